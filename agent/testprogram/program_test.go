package testprogram_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berthproject/berth/agent/testprogram"
	"github.com/berthproject/berth/internal/testkit"
)

// process is a running test program.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// start starts the test program in an empty directory.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(testkit.Program(t, "agent/testprogram/program"), args...)}
	p.Dir = t.TempDir()
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// waitForLine reads lines until one starts with prefix, and returns it.
func (p *process) waitForLine(t *testing.T, prefix string) string {
	t.Helper()
	for p.lines.Scan() {
		if strings.HasPrefix(p.lines.Text(), prefix) {
			return p.lines.Text()
		}
	}
	t.Fatalf("the program exited before it printed %q", prefix)
	return ""
}

// waitExited waits until the program has exited, and returns its exit code.
func (p *process) waitExited(t *testing.T) int {
	t.Helper()
	for p.lines.Scan() {
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// statusField returns a numeric field of /proc/PID/status.
func (p *process) statusField(t *testing.T, name string) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+)`).FindSubmatch(data)
	if m == nil {
		t.Fatalf("no %s in %s", name, data)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMemory(t *testing.T) {
	p := start(t, "-memory=64Mi", "-memory-rate=1Gi", "-memory-shared=16Mi")
	p.waitForLine(t, "memory")
	p.waitForLine(t, "memory")
	if kb := p.statusField(t, "RssAnon"); kb < 64<<10 || kb > 100<<10 {
		t.Errorf("%d KiB of anonymous memory, want from %d to %d KiB", kb, 64<<10, 100<<10)
	}
}

func TestFilesAndProcesses(t *testing.T) {
	p := start(t, "-write=3Mi", "-write-to=file", "-read=file", "-inodes=25", "-processes=7", "-process-rate=1000")
	for range 3 {
		p.waitForLine(t, "")
	}
	if info, err := os.Stat(filepath.Join(p.Dir, "file")); err != nil || info.Size() != 3<<20 {
		t.Errorf("written file: %v, %v, want a size of 3 MiB", info, err)
	}
	if files, err := os.ReadDir(filepath.Join(p.Dir, "inodes")); err != nil || len(files) != 25 {
		t.Errorf("%d created files, %v, want 25", len(files), err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.Process.Pid, p.Process.Pid))
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Process.Pid))
	n := len(strings.Fields(string(children)))
	for _, path := range tasks {
		if filepath.Base(filepath.Dir(path)) != strconv.Itoa(p.Process.Pid) {
			data, _ := os.ReadFile(path)
			n += len(strings.Fields(string(data)))
		}
	}
	if err != nil || n != 7 {
		t.Errorf("%d child processes, %v, want 7", n, err)
	}
}

func TestExit(t *testing.T) {
	if code := start(t, "-exit=3").waitExited(t); code != 3 {
		t.Errorf("exit code with -exit=3: %d, want 3", code)
	}
	if code := start(t, "-lines=2", "-exit=5", "-after=1ms").waitExited(t); code != 5 {
		t.Errorf("exit code with -exit=5 after 1 ms: %d, want 5", code)
	}
	p := start(t, "-listen=127.0.0.1:0", "-exit=4")
	p.waitForLine(t, "listening")
	_ = p.Process.Signal(syscall.SIGTERM)
	if code := p.waitExited(t); code != 4 {
		t.Errorf("exit code with -exit=4 after SIGTERM: %d, want 4", code)
	}
	p = start(t, "-listen=127.0.0.1:0", "-deaf")
	address := strings.TrimPrefix(p.waitForLine(t, "listening"), "listening at ")
	_ = p.Process.Signal(syscall.SIGTERM)
	p.waitForLine(t, "received terminated")
	if body := request(t, http.MethodPost, "http://"+address+"/exit?code=300"); !strings.Contains(body, "must be a number from 0 to 255") {
		t.Errorf("response to code 300: %q, want \"must be a number from 0 to 255\"", body)
	}
	request(t, http.MethodPost, "http://"+address+"/exit?code=9")
	if code := p.waitExited(t); code != 9 {
		t.Errorf("exit code after the request of code 9: %d, want 9", code)
	}
}

func TestHTTP(t *testing.T) {
	p := start(t, "-listen=127.0.0.1:0", "-ready-after=1h")
	address := "http://" + strings.TrimPrefix(p.waitForLine(t, "listening"), "listening at ")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/": host, "/env": "PATH=", "/healthz": "not well"} {
		if got := request(t, http.MethodGet, address+path); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	before := p.statusField(t, "RssAnon")
	if got := request(t, http.MethodPost, address+"/memory?bytes=32Mi&rate=1Gi"); got != "" || p.statusField(t, "RssAnon") < before+(32<<10) {
		t.Errorf("response to /memory: %q, anonymous memory %d KiB, want \"\" and at least %d KiB", got, p.statusField(t, "RssAnon"), before+(32<<10))
	}
	if got := request(t, http.MethodPost, address+"/memory?bytes=large"); !strings.Contains(got, `"large": must be a number of bytes`) {
		t.Errorf("response to an invalid size: %q, want \"must be a number of bytes\"", got)
	}
}

// TestGracefulExit checks that a connection opened before SIGTERM gets its response, even if its request arrives after the listener is
// closed. The program must then exit.
func TestGracefulExit(t *testing.T) {
	p := start(t, "-listen=127.0.0.1:0", "-graceful")
	address := strings.TrimPrefix(p.waitForLine(t, "listening at "), "listening at ")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.waitForLine(t, "received terminated")
	for { // until the listener is closed
		late, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = late.Close()
	}
	fmt.Fprintf(conn, "GET /healthz HTTP/1.0\r\n\r\n")
	response, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(response), "200 OK") {
		t.Errorf("response %q, %v, want 200 OK", response, err)
	}
	if code := p.waitExited(t); code != 0 {
		t.Errorf("exit code after SIGTERM: %d, want 0", code)
	}
}

// request makes an HTTP request and returns the body or the error, because the program may exit
// before it responds.
func request(t *testing.T, method, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	return string(body)
}

func TestCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, tc := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"true"}, 0, ""}, {[]string{"false"}, 1, ""}, {[]string{"exit", "6"}, 6, ""}, {[]string{"echo", "a", "b"}, 0, "a b\n"},
		{[]string{"exists", file}, 1, ""}, {[]string{"touch", file}, 0, ""}, {[]string{"exists", file}, 0, ""}, {[]string{"cat", file}, 0, ""},
		{[]string{"remove", file}, 0, ""}, {[]string{"cat", file}, 1, ""}, {[]string{"sleep", "1ms"}, 0, ""}, {[]string{"sleep", "long"}, 1, ""},
		{[]string{"unknown"}, 2, ""}, {[]string{"-memory=-1"}, 2, ""}, {[]string{"-listen=:0", "extra"}, 2, ""}, {[]string{"-listen=nowhere"}, 1, ""},
		{[]string{"-attack=unknown"}, 2, ""},
	} {
		var out, errOut bytes.Buffer
		if code := testprogram.Main(tc.args, &out, &errOut); code != tc.code || out.String() != tc.out || (code != 0 && code != 6 && tc.args[0] != "false") != (errOut.Len() > 0) {
			t.Errorf("%q: code %d, out %q, errors %q, want %d, %q", tc.args, code, out.String(), errOut.String(), tc.code, tc.out)
		}
	}
}
