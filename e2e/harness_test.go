package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/internal/testkit"
)

// Timeouts are several times longer than needed on a loaded machine with two cores.
var (
	startTimeout = scaleTimeout(60 * time.Second)
	stopTimeout  = scaleTimeout(30 * time.Second)
	eventTimeout = scaleTimeout(60 * time.Second)
)

// scaleTimeout returns a longer timeout on the emulated machine of make test-v2.
func scaleTimeout(d time.Duration) time.Duration {
	if emulated() {
		return 10 * d
	}
	return d
}

// testHome is the directory of one test, which its processes use as their home directory.
type testHome struct {
	t   testing.TB
	dir string
}

func newTestHome(t testing.TB) testHome {
	h := testHome{t, t.TempDir()}
	t.Cleanup(func() { // unmount the volumes of a killed cluster
		points, err := mounts.At(h.dir + "/data/volumes")
		if err == nil {
			err = mounts.Unmount(points, true)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h testHome) path(name string) string { return filepath.Join(h.dir, name) }

func (h testHome) write(name, content string) string {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

// command returns a berth command with the environment of the home directory.
func (h testHome) command(args ...string) *exec.Cmd {
	cmd := exec.Command(testkit.Binary(h.t), args...)
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+h.path("state"), "TMPDIR="+h.dir, "KUBECONFIG=", "NO_COLOR=1")
	if os.Getenv("BERTH_SOAK") == "" { // saves a fifth of the CPU time where nothing is measured
		cmd.Env = append(cmd.Env, "GOGC=400")
	}
	cmd.SysProcAttr = killWithTest()
	return cmd
}

// result is the output of a command that has ended.
type result struct {
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
}

// run runs berth until it ends.
func (h testHome) run(args ...string) result {
	h.t.Helper()
	return h.runWith(nil, args...)
}

// runWith is run with additional environment variables.
func (h testHome) runWith(env []string, args ...string) result {
	h.t.Helper()
	cmd := h.command(args...)
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatalf("berth %s: %v", strings.Join(args, " "), err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// process is a running berth.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    transcript
	exited chan struct{}
}

// transcript collects the output of a process.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// start starts a berth process that is killed at the end of the test.
func (h testHome) start(args ...string) *process {
	h.t.Helper()
	return h.startIn(nil, args...)
}

// startIn is start with a wrapper command that executes berth.
func (h testHome) startIn(wrapper []string, args ...string) *process {
	h.t.Helper()
	p := &process{t: h.t, cmd: h.command(args...), exited: make(chan struct{})}
	if len(wrapper) > 0 {
		program, err := exec.LookPath(wrapper[0])
		if err != nil {
			h.t.Fatal(err)
		}
		p.cmd.Path, p.cmd.Args = program, append(slices.Clone(wrapper), p.cmd.Args...)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	h.t.Cleanup(func() {
		p.kill()
		if h.t.Failed() {
			text := p.out.String()
			h.t.Logf("output of berth %s:\n%s", strings.Join(args, " "), text[max(0, len(text)-4000):])
		}
	})
	return p
}

// waitForOutput waits until the process has printed the words, and returns its output.
func (p *process) waitForOutput(words string) string {
	p.t.Helper()
	eventually(p.t, startTimeout, func() error {
		select {
		case <-p.exited:
			if !strings.Contains(p.out.String(), words) {
				p.t.Fatalf("%s exited with code %d before it printed %q: %s", p.cmd, p.cmd.ProcessState.ExitCode(), words, p.out.String())
			}
		default:
		}
		if !strings.Contains(p.out.String(), words) {
			return fmt.Errorf("%s has not printed %q, but: %s", p.cmd, words, p.out.String())
		}
		return nil
	})
	return p.out.String()
}

// stop sends SIGINT to the process, as Ctrl-C does, and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	_ = p.cmd.Process.Signal(os.Interrupt)
	return p.wait()
}

// wait waits for the end of the process and returns its exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.exited
		p.t.Fatalf("%s did not end within %s: %s", p.cmd, stopTimeout, p.out.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// eventually calls f until it succeeds. It fails the test with f's last error if f does not succeed in time.
func eventually(t testing.TB, within time.Duration, f func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", within, err)
		}
		time.Sleep(wait)
	}
}

// cluster is a server with a kubeconfig.
type cluster struct {
	testHome
	proc       *process
	kubeconfig string
}

// up starts `berth up` with its data in the home directory, on a free port.
func (h testHome) up(args ...string) *cluster {
	h.t.Helper()
	args = append([]string{"up", "--data-dir", h.path("data"), "--listen", "127.0.0.1:0"}, args...)
	c := &cluster{h, h.start(args...), h.path("data/kubeconfig")}
	c.proc.waitForOutput("Berth is up")
	return c
}

// server starts `berth server` with its data in the home directory, on a free port.
func (h testHome) server(args ...string) *cluster {
	h.t.Helper()
	args = append([]string{"server", "--data-dir", h.path("data"), "--listen", "127.0.0.1:0"}, args...)
	c := &cluster{h, h.start(args...), h.path("data/kubeconfig")}
	c.proc.waitForOutput("API server ready")
	return c
}

// kubectl runs the embedded kubectl as the admin.
func (c *cluster) kubectl(args ...string) result {
	c.t.Helper()
	return c.testHome.run(append([]string{"kubectl", "--kubeconfig", c.kubeconfig}, args...)...)
}

// mustKubectl is kubectl that must succeed. It returns the output.
func (c *cluster) mustKubectl(args ...string) string {
	c.t.Helper()
	r := c.kubectl(args...)
	if r.code != 0 {
		c.t.Fatalf("kubectl %s: got %s, want exit code 0%s", strings.Join(args, " "), r, c.describePods(args))
	}
	return r.stdout
}

// describePods describes the pods that a failed kubectl wait names, with their events.
func (c *cluster) describePods(args []string) string {
	if args[0] != "wait" {
		return ""
	}
	var text strings.Builder
	for _, arg := range args {
		if strings.HasPrefix(arg, "pod/") {
			text.WriteString("\n" + c.kubectl("describe", arg, "--request-timeout=10s").stdout)
		}
	}
	return text.String()
}

// json is mustKubectl with -o json, decoded into v.
func (c *cluster) json(v any, args ...string) {
	c.t.Helper()
	out := c.mustKubectl(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		c.t.Fatalf("parsing the output of kubectl %s -o json: %v: %s", strings.Join(args, " "), err, out)
	}
}

// config returns the client configuration of the admin.
func (c *cluster) config() *rest.Config {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func (c *cluster) client() kubernetes.Interface {
	c.t.Helper()
	client, err := kubernetes.NewForConfig(c.config())
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// credential writes a kubeconfig from `berth credentials` and returns its path.
func (c *cluster) credential(name string, args ...string) string {
	c.t.Helper()
	r := c.testHome.run(append([]string{"credentials", "--data-dir", c.path("data")}, args...)...)
	if r.code != 0 {
		c.t.Fatalf("berth credentials %s: got %s, want exit code 0", strings.Join(args, " "), r)
	}
	return c.write(name+".kubeconfig", r.stdout)
}

// waitForNodes waits until the nodes exist, one after the other, because kubectl wait fails if
// only some of several nodes exist.
func (c *cluster) waitForNodes(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.mustKubectl("wait", "--for=create", "node/"+name, "--timeout=180s")
	}
}
