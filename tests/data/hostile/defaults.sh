V0=1
V1=1
V2=1
V3=1
V4=1
V5=1
V6=1
V7=1
V8=1
V9=1
V10=1
V11=1
V12=1
V13=1
V14=1
V15=1
V16=1
V17=1
V18=1
V19=1
V20=1
V21=1
V22=1
V23=1
V24=1
V25=1
V26=1
V27=1
V28=1
V29=1
V30=1
V31=1
V32=1
V33=1
V34=1
V35=1
V36=1
V37=1
V38=1
V39=1
V40=1
V41=1
V42=1
V43=1
V44=1
V45=1
V46=1
V47=1
V48=1
V49=1
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
eval run ${X:-${Y:-$V1}}
