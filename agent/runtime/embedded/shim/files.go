package shim

import (
	"errors"
	"strconv"
	"syscall"
	"time"
)

// Name is the process name of a shim. Its argument and working directory are the container's
// directory.
const Name = "berth-shim"

// InitName is the process name of a container's init process.
const InitName = "berth-init"

// Files in a container's directory.
const (
	ConfigFile  = "shim.conf"
	InitFile    = "init.json"
	LockFile    = "lock"
	ProcessFile = "process"
	UserFile    = "user"
	ExitFile    = "exit"
	Socket      = "control"
)

// File descriptors of a shim, after the standard streams.
const (
	ReportFD  = 3 // a socket: receives Go; sends "ok" or "CODE MESSAGE" after the start
	SandboxFD = 4 // a pidfd of the sandbox
	LockFD    = 5 // LockFile, locked
)

// Go is the byte that claims a shim. The shim then starts its container. Without it, a shim could
// start a container that the agent has abandoned after a timeout.
const Go = 'g'

// Config configures a shim.
type Config struct {
	Log       string // absolute path; "" for no log
	Terminal  bool
	Stdin     bool // attached clients may write to the standard input
	StdinOnce bool // close the standard input when an attached client disconnects
	// SharedProcesses starts the container in the sandbox's PID namespace.
	SharedProcesses bool
}

// Processes identifies the processes of a container.
type Processes struct {
	Shim, Container int
	// Start and ShimStart are start times in clock ticks since boot. Together with the process ID
	// they identify a process.
	Start, ShimStart string
	Started          time.Time
}

// Exit is the exit status of a container.
type Exit struct {
	Code     int
	Finished time.Time
	Reason   string // StartError, ContainerStatusUnknown or ""
	Message  string
}

// Text returns the configuration as file contents.
func (c Config) Text() []byte {
	return formatPairs("log", strconv.Quote(c.Log), "terminal", strconv.FormatBool(c.Terminal), "stdin", strconv.FormatBool(c.Stdin),
		"once", strconv.FormatBool(c.StdinOnce), "shared", strconv.FormatBool(c.SharedProcesses))
}

func readConfig(dir string) (c Config, err error) {
	m, err := readPairs(dir + "/" + ConfigFile)
	if err != nil {
		return c, err
	}
	c.Log, err = strconv.Unquote(m["log"])
	c.Terminal, c.Stdin, c.StdinOnce, c.SharedProcesses = m["terminal"] == "true", m["stdin"] == "true", m["once"] == "true", m["shared"] == "true"
	return c, err
}

func (p Processes) text() []byte {
	return formatPairs("shim", strconv.Itoa(p.Shim), "container", strconv.Itoa(p.Container), "start", p.Start, "shim-start", p.ShimStart, "started", formatTime(p.Started))
}

// ReadProcesses reads DIR/process, which exists once the container was started.
func ReadProcesses(dir string) (p Processes, err error) {
	m, err := readPairs(dir + "/" + ProcessFile)
	if err != nil {
		return p, err
	}
	shim, err1 := strconv.Atoi(m["shim"])
	container, err2 := strconv.Atoi(m["container"])
	started, err3 := parseTime(m["started"])
	return Processes{shim, container, m["start"], m["shim-start"], started}, errors.Join(err1, err2, err3)
}

func (e Exit) text() []byte {
	return formatPairs("code", strconv.Itoa(e.Code), "finished", formatTime(e.Finished), "reason", e.Reason, "message", strconv.Quote(e.Message))
}

// ReadExit reads DIR/exit, which exists once the container has exited.
func ReadExit(dir string) (e Exit, err error) {
	m, err := readPairs(dir + "/" + ExitFile)
	if err != nil {
		return e, err
	}
	code, err1 := strconv.Atoi(m["code"])
	finished, err2 := parseTime(m["finished"])
	message, err3 := strconv.Unquote(m["message"])
	return Exit{code, finished, m["reason"], message}, errors.Join(err1, err2, err3)
}

// exitReserve is the space in bytes that is reserved for DIR/exit.
const exitReserve = 1024

// reserveExitFile reserves disk space for DIR/exit in the file that WriteExit renames. A
// container that has filled the disk must still end, so that its files can be removed.
func reserveExitFile(dir string) error {
	fd, err := open(dir+"/"+ExitFile+".new", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer closeFile(fd)
	return writeAll(fd, make([]byte, exitReserve))
}

// WriteExit writes DIR/exit atomically and durably. The agent calls it if the shim of a container did
// not write the file.
func WriteExit(dir string, e Exit) error { return writeFileAtomic(dir+"/"+ExitFile, e.text(), true) }

// StartTime returns the start time of a process in clock ticks since boot, or "" if it does not
// exist.
func StartTime(pid int) string {
	s, _ := ReadStat(pid)
	return s.Start
}

// ProcessStat is a part of /proc/PID/stat.
type ProcessStat struct {
	State                  byte // Z and X are exited processes
	Parent, Group, Session int
	Start                  string // clock ticks since boot
}

// ReadStat reads the ProcessStat of a process. ok is false if it does not exist.
func ReadStat(pid int) (s ProcessStat, ok bool) {
	stat, err := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	// pid (name) state parent group session ...: only the name may contain parentheses. The start time
	// is field 22.
	end := len(stat)
	for end > 0 && stat[end-1] != ')' {
		end--
	}
	const first, last = 3, 22
	fields := stat[min(end+1, len(stat)):]
	for field := first; field <= last; field++ {
		n := indexByte(fields, ' ')
		if n < 0 {
			return ProcessStat{}, false
		}
		text := string(fields[:n])
		fields = fields[n+1:]
		number, _ := strconv.Atoi(text)
		switch field {
		case first:
			s.State = text[0]
		case first + 1:
			s.Parent = number
		case first + 2:
			s.Group = number
		case first + 3:
			s.Session = number
		case last:
			s.Start = text
		}
	}
	return s, true
}

// writeFileAtomic replaces a file atomically. If durable is set, the new content also survives a
// crash of the machine.
func writeFileAtomic(name string, text []byte, durable bool) error {
	fd, err := open(name+".new", syscall.O_WRONLY|syscall.O_CREAT, 0o600) // keeps reserved space
	if err != nil {
		return &pathError{name, err}
	}
	if err = writeAll(fd, text); err == nil {
		_, err = retryEINTR(func() (int, syscall.Errno) {
			return call(syscall.SYS_FTRUNCATE, uintptr(fd), uintptr(len(text)), 0, 0, 0)
		})
	}
	if durable && err == nil {
		_, err = retryEINTR(func() (int, syscall.Errno) { return call(syscall.SYS_FSYNC, uintptr(fd), 0, 0, 0, 0) })
	}
	closeFile(fd)
	if err == nil {
		err = renameFile(name+".new", name)
	}
	if err != nil {
		return &pathError{name, err}
	}
	return nil
}

// formatPairs returns lines "name=value".
func formatPairs(pairs ...string) []byte {
	var out []byte
	for i := 0; i < len(pairs); i += 2 {
		out = append(append(append(append(out, pairs[i]...), '='), pairs[i+1]...), '\n')
	}
	return out
}

// readPairs reads a file of lines NAME=VALUE.
func readPairs(file string) (map[string]string, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for len(text) > 0 {
		line := text
		if i := indexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if i := indexByte(line, '='); i >= 0 {
			m[string(line[:i])] = string(line[i+1:])
		}
	}
	return m, nil
}

func formatTime(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func parseTime(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(0, n), err
}
