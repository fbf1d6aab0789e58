package shim

import (
	"errors"
	"strconv"
	"syscall"
	"time"
)

// Name is what the program is started as, with the container's directory as its argument and as working directory.
const Name = "berth-shim"

// InitName is what the program is started as to be the first process of a container.
const InitName = "berth-init"

// Files in a container's directory.
const (
	ConfigFile  = "shim.conf"
	InitFile    = "init.json"
	LockFile    = "lock"
	ProcessFile = "process"
	ExitFile    = "exit"
	Socket      = "control"
)

// File descriptors that it is started with, after the three usual ones.
const (
	ReportFD  = 3 // a socket that says Go, and is told "ok" or "code message" when the container has started or not
	SandboxFD = 4 // a pidfd of the sandbox
	LockFD    = 5 // of LockFile, locked
)

// Go is what the agent says when it has taken a shim, which begins its container then. It must not begin one that the agent, which
// has not heard of it in time, has given up.
const Go = 'g'

// Config of a shim.
type Config struct {
	Log       string // absolute path; "" keeps none
	Terminal  bool
	Stdin     bool // who is attached may write to it
	StdinOnce bool // until the first one goes
	// SharedProcesses puts the container into the sandbox's process namespace.
	SharedProcesses bool
}

// Processes of a container.
type Processes struct {
	Shim, Container int
	// Start and ShimStart are when they were made, in the kernel's ticks: with the id these name one process.
	Start, ShimStart string
	Started          time.Time
}

// Exit is how a container ended.
type Exit struct {
	Code     int
	Finished time.Time
	Reason   string // StartError when it could not be started, else ""
	Message  string
}

// Text is the configuration as a file.
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

// ReadProcesses reads DIR/process. It is not there before the container has been started.
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

// ReadExit reads DIR/exit. It is not there before the container has ended.
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

// exitReserve is how long DIR/exit may be that is written when the disk is full.
const exitReserve = 1024

// reserveExitFile makes room for DIR/exit, in the file that WriteExit renames: a container that has filled the disk must be able to end, or nobody
// could remove what it has written.
func reserveExitFile(dir string) error {
	fd, err := open(dir+"/"+ExitFile+".new", syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer closeFile(fd)
	return writeAll(fd, make([]byte, exitReserve))
}

// WriteExit writes DIR/exit, for a container whose shim did not.
func WriteExit(dir string, e Exit) error { return writeFileAtomic(dir+"/"+ExitFile, e.text(), true) }

// StartTime is when a process was made, in the kernel's ticks since boot; "" if there is none.
func StartTime(pid int) string {
	stat, err := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// pid (name) state ...: the name may hold anything, the rest holds no brackets.
	end := len(stat)
	for end > 0 && stat[end-1] != ')' {
		end--
	}
	const before = 20 // blanks: it is the 22nd of all
	rest := stat[end:]
	for range before {
		rest = rest[indexByte(rest, ' ')+1:]
	}
	return string(rest[:max(indexByte(rest, ' '), 0)])
}

// writeFileAtomic writes a file whole: who reads it meanwhile sees all of it or what was before; with lasting, also who does so after
// the machine has crashed.
func writeFileAtomic(name string, text []byte, lasting bool) error {
	fd, err := open(name+".new", syscall.O_WRONLY|syscall.O_CREAT, 0o600) // what is reserved stays so until it is written
	if err != nil {
		return &pathError{name, err}
	}
	if err = writeAll(fd, text); err == nil {
		_, err = retryEINTR(func() (int, syscall.Errno) {
			return call(syscall.SYS_FTRUNCATE, uintptr(fd), uintptr(len(text)), 0, 0, 0)
		})
	}
	if lasting && err == nil {
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

// formatPairs are lines "name=value".
func formatPairs(all ...string) []byte {
	var out []byte
	for i := 0; i < len(all); i += 2 {
		out = append(append(append(append(out, all[i]...), '='), all[i+1]...), '\n')
	}
	return out
}

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
