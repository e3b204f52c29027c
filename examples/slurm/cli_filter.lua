-- Distributed under the Boost Software License, Version 1.0.
-- The same without a plugin: put this beside slurm.conf, with CliFilterPlugins=lua in it. It sees what was asked of Slurm, too.
--   sbatch --comment=headroom:job.json --nodes=2 --gpus-per-node=8 train.sh
-- The program is the one in HEADROOM, or in the path. Its exit code: 0 fits, 1 does not fit, 2 bad input. It reads files below the job file's
-- folder alone, and where it has not answered after ten seconds the submission goes on. With audit nothing is refused: what would be is said,
-- and submitted. The job's comment says what was decided, for sbatch, salloc and srun alike: squeue -o %k shows it.
local seconds = 10
local audit = false

-- A name that the shell takes as it is, whatever it holds.
local function quoted(name)
  return "'" .. name:gsub("'", "'\\''") .. "'"
end

-- A name for people: a terminal obeys nothing in it.
local function shown(name)
  return (name:gsub("%c", "?"))
end

-- What was decided, in the comment that asked for it.
local function noted(options, file, decision)
  options["comment"] = "headroom:" .. file .. " (" .. decision .. ")"
  return slurm.SUCCESS
end

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, pack)
  local file = tostring(options["comment"] or ""):match("^headroom:(.+)$")
  if file == nil then return slurm.SUCCESS end
  for _, decision in ipairs({"fits", "does not fit", "bad input", "not decided"}) do  -- a comment that was noted before
    local note = " (" .. decision .. ")"
    if file:sub(-#note) == note then file = file:sub(1, -#note - 1) end
  end
  -- ./-name is a file, -name would be an option.
  if file:sub(1, 1) ~= "/" then file = "./" .. file end
  local program = os.getenv("HEADROOM") or "headroom"
  local pipe = io.popen("timeout -k 1 " .. seconds .. " " .. quoted(program) .. " estimate --confined " .. quoted(file) .. " 2>&1 </dev/null; echo \"exit $?\"")
  local said = pipe and pipe:read("*a") or "exit 127"
  if pipe then pipe:close() end
  local code = tonumber(said:match("exit (%d+)%s*$"))
  if code == 0 then return noted(options, file, "fits") end
  if code == 124 or code == 137 then  -- of timeout: it ended the program
    slurm.log_info("headroom: no opinion of %s: it was not judged within %d seconds", shown(file), seconds)
    return noted(options, file, "not decided")
  end
  local why = said:match("[^\n]*DOES NOT FIT[^\n]*") or said:match("headroom:[^\n]*") or "the program could not be run"
  why = shown(why:gsub("\27%[[%d;]*m", ""))
  if audit then
    slurm.log_info("headroom: NOT REFUSED, as this cluster audits: %s: %s", shown(file), why)
    return noted(options, file, code == 1 and "does not fit" or "bad input")
  end
  slurm.log_error("headroom: REFUSED %s: %s; nothing was submitted", shown(file), why)
  return slurm.ERROR
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end
