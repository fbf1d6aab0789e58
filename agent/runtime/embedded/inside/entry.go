package inside

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"syscall"
)

// fault is an error with an exit code: 127 for a command that is not there, 126 for one that cannot be run, else 128.
type fault struct {
	words string
	code  int
}

func (f *fault) Error() string { return f.words }

// wrap says what was tried.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := err.(*fault); ok {
		return f
	}
	return &fault{what + ": " + err.Error(), 128}
}

func init() {
	if len(os.Args) == 0 {
		return
	}
	var do func(*Spec) error
	switch os.Args[0] {
	case Init:
		do = container
	case Exec:
		do = command
	case Sandbox:
		do = sandbox
	default:
		return
	}
	for _, fd := range []int{SpecFD, ReportFD, ProcessFD} {
		syscall.CloseOnExec(fd)
	}
	err := run(do)
	code := 128
	if own, ok := err.(*fault); ok {
		code = own.code
	}
	_, _ = syscall.Write(ReportFD, []byte(strconv.Itoa(code)+" "+err.Error()))
	os.Exit(code)
}

// run returns only if the program did not become another.
func run(do func(*Spec) error) error {
	// Who is in the container already must not reach this program through /proc.
	if err := prctl(prSetDumpable, 0); err != nil {
		return wrap("prctl", err)
	}
	text, err := io.ReadAll(os.NewFile(SpecFD, "spec"))
	if err != nil {
		return wrap("reading what to do", err)
	}
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return wrap("reading what to do", err)
	}
	return do(&s)
}

// container is the first process of a new container. It is in a mount namespace of its own,
// and as a rule in a process namespace of its own.
func container(s *Spec) error {
	if err := tie(); err != nil {
		return err
	}
	if err := setns(ProcessFD, syscall.CLONE_NEWNET|syscall.CLONE_NEWIPC|syscall.CLONE_NEWUTS); err != nil {
		return wrap("joining the sandbox's namespaces", err)
	}
	joins, err := openAll(s.Joins)
	if err != nil {
		return err
	}
	if err := s.makeRoot(); err != nil {
		return err
	}
	return s.become(joins)
}

// tie has the kernel end this process with its shim: without, it has nobody.
func tie() error {
	if err := prctl(prSetPdeathsig, uintptr(syscall.SIGKILL)); err != nil {
		return wrap("prctl", err)
	}
	// One that was killed before is not told of; but it was who reads the reports.
	report := struct {
		fd              int32
		events, revents int16
	}{fd: ReportFD}
	if n, err := call(syscall.SYS_PPOLL, addr(&report), 1, addr(&syscall.Timespec{}), 0, 0); err != nil || n > 0 {
		return &fault{"its shim was killed", 128}
	}
	return nil
}

// command is one more process in a container.
func command(s *Spec) error {
	joins, err := openAll(s.Joins)
	if err != nil {
		return err
	}
	// The threads of this program share what they know of the file system; this one must not, to change it.
	if err := syscall.Unshare(syscall.CLONE_FS); err != nil {
		return wrap("unshare", err)
	}
	if err := setns(ProcessFD, syscall.CLONE_NEWNET|syscall.CLONE_NEWIPC|syscall.CLONE_NEWUTS|syscall.CLONE_NEWNS); err != nil {
		return wrap("joining the container's namespaces", err)
	}
	return s.become(joins)
}

// sandbox becomes what holds the namespaces of a pod, which it has been started in.
func sandbox(s *Spec) error {
	if s.Hostname != "" {
		if err := syscall.Sethostname([]byte(s.Hostname)); err != nil {
			return wrap("setting the host's name to "+s.Hostname, err)
		}
	}
	for name, value := range s.Sysctls {
		file := "/proc/sys/"
		for _, c := range name {
			if c == '.' {
				c = '/'
			}
			file += string(c)
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return wrap("sysctl "+name, err)
		}
	}
	joins, err := openAll(s.Joins)
	if err != nil {
		return err
	}
	if err := join(joins); err != nil {
		return err
	}
	if err := s.score(); err != nil {
		return err
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return wrap("/dev/null", err)
	}
	if err := empty(); err != nil {
		return err
	}
	if err := s.drop(0, 0, nil); err != nil {
		return err
	}
	// The agent writes down who this is, and says so on the standard input: what nobody knows of must not be.
	var word [1]byte
	if n, err := syscall.Read(0, word[:]); n != 1 {
		return &fault{"the agent ended", 128}
	} else if err != nil {
		return wrap("waiting for the agent", err)
	}
	if err := syscall.Dup3(null, 0, 0); err != nil {
		return wrap("/dev/null", err)
	}
	args, err := syscall.SlicePtrFromStrings(s.Args)
	if err != nil {
		return err
	}
	env := []*byte{nil}
	_, err = call(callExecveat, ProcessFD, bytePtr(""), addr(&args[0]), addr(&env[0]), atEmptyPath)
	return wrap("starting the sandbox", err)
}

// empty makes an empty file system that of the process, which is in a mount namespace of its own: where a pod's containers see
// each other's processes, they get at the root of this one, too.
func empty() error {
	if err := syscall.Mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC, ""); err != nil {
		return wrap("making mounts private", err)
	}
	const at = "/proc" // a directory that is there
	if err := syscall.Mount("none", at, "tmpfs", syscall.MS_RDONLY|syscall.MS_NODEV|syscall.MS_NOSUID|syscall.MS_NOEXEC, "size=0,nr_inodes=2,mode=555"); err != nil {
		return wrap("mounting an empty root", err)
	}
	return pivot(at)
}

func setns(fd int, flags uintptr) error {
	_, err := call(callSetns, uintptr(fd), flags)
	return err
}

func openAll(files []string) ([]int, error) {
	var fds []int
	for _, f := range files {
		fd, err := syscall.Open(f, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return nil, wrap("joining cgroup "+f, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// join joins cgroups, late: what this program needs itself is not charged to the container.
func join(fds []int) error {
	for _, fd := range fds {
		if _, err := syscall.Write(fd, []byte("0")); err != nil {
			return wrap("joining a cgroup", err)
		}
		_ = syscall.Close(fd)
	}
	return nil
}
