package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/cli"
)

// unreachableKubeconfig returns a kubeconfig of a server that refuses connections.
func unreachableKubeconfig(port int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:%d"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, port)
}

// TestClientCommandsUseKubeconfig checks that all client commands prefer --kubeconfig to
// KUBECONFIG, which may be a list, and that the cluster of berth up is the default.
func TestClientCommandsUseKubeconfig(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if err := os.MkdirAll(filepath.Join(state, "berth"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cli.KubeconfigPath(cli.DefaultDataDir()), []byte(unreachableKubeconfig(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	env, flag := writeFile(t, "env", unreachableKubeconfig(2)), writeFile(t, "flag", unreachableKubeconfig(3))
	for _, command := range []string{"explain pod p", "explain node n", "explain node n --disk", "explain displacement p", "evictions", "queue", "zones",
		"drain n", "drain n --what-if"} {
		for _, tc := range []struct{ env, flag, want string }{
			{"", "", "127.0.0.1:1"},
			{env, "", "127.0.0.1:2"},
			{"/does/not/exist:" + env, "", "127.0.0.1:2"},
			{env, flag, "127.0.0.1:3"},
		} {
			t.Setenv("KUBECONFIG", tc.env)
			args := strings.Fields(command)
			if tc.flag != "" {
				args = append(args, "--kubeconfig", tc.flag)
			}
			if out, _, err := runBerth(args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("KUBECONFIG=%s berth %s: got error %v, want %s in it\n%s", tc.env, strings.Join(args, " "), err, tc.want, out)
			}
		}
	}
}

// TestKubectlUsesKubeconfig checks that berth kubectl uses KUBECONFIG, else the cluster of berth up.
func TestKubectlUsesKubeconfig(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	if _, err := kubectlConfigFlags([]string{"get", "pods"}); err == nil || !strings.Contains(err.Error(), "berth up") {
		t.Errorf("no cluster: got error %v, want berth up in it", err)
	}
	if err := os.MkdirAll(cli.DefaultDataDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	file := cli.KubeconfigPath(cli.DefaultDataDir())
	if err := os.WriteFile(file, []byte(unreachableKubeconfig(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{"": "http://127.0.0.1:1", writeFile(t, "env", unreachableKubeconfig(2)): "http://127.0.0.1:2"} {
		t.Setenv("KUBECONFIG", env)
		flags, err := kubectlConfigFlags([]string{"get", "pods"})
		if err != nil {
			t.Fatal(err)
		}
		if config, err := flags.ToRESTConfig(); err != nil || config.Host != want {
			t.Errorf("KUBECONFIG=%s: got %+v and error %v, want host %s", env, config, err, want)
		}
	}
}

// TestJournalNextToKubeconfig checks that the journal is that of the cluster that the
// command uses.
func TestJournalNextToKubeconfig(t *testing.T) {
	dirs := map[string]string{}
	for _, name := range []string{"state/berth", "env", "flag"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(dir, "journal"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(cli.KubeconfigPath(dir), []byte(unreachableKubeconfig(1)), 0o600); err != nil {
			t.Fatal(err)
		}
		dirs[name] = dir
	}
	t.Setenv("XDG_STATE_HOME", filepath.Dir(dirs["state/berth"]))
	for _, tc := range []struct{ env, flag, want string }{{"", "", "state/berth"}, {"env", "", "env"}, {"env", "flag", "flag"}} {
		env, flag := "", ""
		if tc.env != "" {
			env = cli.KubeconfigPath(dirs[tc.env])
		}
		if tc.flag != "" {
			flag = cli.KubeconfigPath(dirs[tc.flag])
		}
		t.Setenv("KUBECONFIG", env)
		if got, err := journalDir("", &cli.Cluster{Kubeconfig: flag}); err != nil || got != filepath.Join(dirs[tc.want], "journal") {
			t.Errorf("KUBECONFIG=%s --kubeconfig %s: got %s and error %v, want that of %s", env, flag, got, err, tc.want)
		}
	}
}
