package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// unitUser is a user of the range that systemd uses for DynamicUser.
	unitUser = 61184
	// startTimeout is the default of systemd's TimeoutStartSec.
	startTimeout = 90 * time.Second
)

// TestUnitsStart runs the command lines of the units for the server, the scheduler and the controllers without systemd:
// as a user without capabilities, with the directories, the credentials and the environment of the unit. Each must become
// ready. The directories are below a temporary one, and the ports are free ones.
func TestUnitsStart(t *testing.T) {
	binary := os.Getenv("BERTH_BINARY")
	if binary == "" {
		t.Skip("BERTH_BINARY does not name the binary; CI sets it in a later step")
	}
	if os.Getuid() != 0 {
		skipOrFail(t, "changing the user requires root")
	}
	requireProgram(t, "setpriv")
	root, err := os.MkdirTemp("", "berth-units-") // unlike t.TempDir, other users may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	output(t, "cp", binary, filepath.Join(root, "berth")) // the user may not enter other directories
	binary = filepath.Join(root, "berth")
	output(t, "chmod", "755", binary)
	server := startUnit(t, root, binary, "server", "6443")
	address := "https://127.0.0.1:" + server
	waitReady(t, address+"/readyz")
	for component, port := range map[string]string{"scheduler": "10259", "controller": "10257"} {
		var log strings.Builder
		credentials := exec.Command(binary, "credentials", "--data-dir", filepath.Join(root, "var/lib/berth/server"), "--for", component)
		credentials.Stderr = &log
		kubeconfig, err := credentials.Output() // without the log
		if err != nil {
			t.Fatalf("berth credentials: %v\n%s", err, log.String())
		}
		if err := os.MkdirAll(filepath.Join(root, component), 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, component, "kubeconfig")
		if err := errors.Join(os.WriteFile(file, kubeconfig, 0o400), os.Chown(file, unitUser, unitUser)); err != nil {
			t.Fatal(err)
		}
		waitReady(t, "https://127.0.0.1:"+startUnit(t, root, binary, component, port)+"/readyz")
	}
}

// startUnit starts the command line of a unit with a free port instead of port, and returns it.
func startUnit(t *testing.T, root, binary, component, port string) string {
	t.Helper()
	unit := readUnit(t, "units/berth-"+component+".service")
	free := freePort(t)
	for _, directory := range unit["StateDirectory"] {
		path := filepath.Join(root, "var/lib", directory)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, 0o700), os.Chown(path, unitUser, unitUser)); err != nil {
			t.Fatal(err)
		}
	}
	name, value, ok := strings.Cut(unit["Environment"][0], "=")
	if !ok || !strings.Contains(value, ":"+port) {
		t.Fatalf("%s: Environment=%s: must have port %s", component, unit["Environment"][0], port)
	}
	line := strings.NewReplacer("$"+name, strings.ReplaceAll(value, ":"+port, ":"+free), "/usr/bin/berth ", binary+" ", "/var/lib/", root+"/var/lib/",
		"%d", filepath.Join(root, component)).Replace(unit["ExecStart"][0])
	run := func(line string) *exec.Cmd {
		// setpriv sets the signal after the user: a change of the user resets it.
		cmd := exec.Command("setpriv", fmt.Sprint("--reuid=", unitUser), fmt.Sprint("--regid=", unitUser), "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--pdeathsig=KILL",
			"sh", "-c", "umask "+unit["UMask"][0]+"; exec "+line)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
		if list := unit["StateDirectory"]; len(list) > 0 {
			cmd.Env = append(cmd.Env, "STATE_DIRECTORY="+filepath.Join(root, "var/lib", list[0]))
		}
		cmd.Dir = "/"
		return cmd
	}
	var log strings.Builder
	cmd := run(line)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: after SIGTERM: %v, want exit code 0", line, err)
		}
		if t.Failed() {
			t.Logf("%s: output:\n%s", line, log.String())
		}
	})
	for _, post := range unit["ExecStartPost"] {
		script, ok := strings.CutPrefix(strings.ReplaceAll(post, "/var/lib/", root+"/var/lib/"), "/bin/sh -c ")
		if !ok {
			t.Fatalf("ExecStartPost=%s: must run /bin/sh -c", post)
		}
		wait := run("timeout " + fmt.Sprint(startTimeout.Seconds()) + " /bin/sh -c " + script)
		if out, err := wait.CombinedOutput(); err != nil {
			t.Fatalf("ExecStartPost=%s: %v: %s", post, err, out)
		}
	}
	return free
}

// readUnit returns the settings of a unit.
func readUnit(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			out[key] = append(out[key], value)
		}
	}
	return out
}

// waitReady waits until an endpoint responds with 200.
func waitReady(t *testing.T, url string) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate is not tested
	var last error
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		response, err := client.Get(url)
		if last = err; err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		last = errors.New(response.Status)
	}
	t.Fatalf("%s is not ready: %v", url, last)
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
