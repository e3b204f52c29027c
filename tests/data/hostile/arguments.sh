g() { true; }
f() {
g "$@"
g "$@"
g "$@"
g "$@"
g "$@"
g "$@"
g "$@"
g "$@"
g "$@"
g "$@"
}
f x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x 
