package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/internal/cli"
)

// runAs returns what the program prints if the binary has this name.
func runAs(t *testing.T, binary string, args ...string) (string, error) {
	t.Helper()
	root := programCommand(filepath.Join("/usr/local/bin", binary), args)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	if binary != pluginCompletionName {
		root.SetArgs(args)
	}
	err := root.Execute()
	return out.String(), err
}

func TestPluginUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", "/none")
	for _, tc := range []struct {
		binary         string
		args           []string
		want, unwanted string
	}{
		{"kubectl-berth", []string{"--help"}, "kubectl berth [command]", "  berth "},
		{"kubectl-berth", []string{"explain", "pod", "--help"}, "kubectl berth explain pod", "  berth "},
		{"kubectl-berth.exe", []string{"drain", "--help"}, "\n  kubectl berth drain ", "  berth "},
		{"berth", []string{"explain", "pod", "--help"}, "  berth explain pod", "kubectl berth"},
		{"kubectl-berth", []string{"help"}, "explain", "completion"},
		{"kubectl_complete-berth", []string{"ex"}, "explain\t", "completion"},
		{"kubectl_complete-berth", []string{"explain", ""}, "pod\t", ""},
	} {
		got, err := runAs(t, tc.binary, tc.args...)
		if err != nil || !strings.Contains(got, tc.want) || tc.unwanted != "" && strings.Contains(got, tc.unwanted) {
			t.Errorf("%s %v: got error %v, want %q and no %q in:\n%s", tc.binary, tc.args, err, tc.want, tc.unwanted, got)
		}
	}
}

func TestPluginErrorNamesCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", "/none")
	_, err := runAs(t, "kubectl-berth", "explan")
	if err == nil || !strings.Contains(err.Error(), `unknown command "explan"`) || !strings.Contains(err.Error(), `"kubectl berth"`) {
		t.Errorf("got error %v, want an unknown command for \"kubectl berth\"", err)
	}
}

// TestPluginKubeconfig checks that the plugin uses the same kubeconfig as kubectl.
func TestPluginKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	previous := clientcmd.RecommendedHomeFile
	clientcmd.RecommendedHomeFile = file
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = previous })
	t.Setenv("KUBECONFIG", "")
	programCommand("kubectl-berth", nil)
	if cli.HasKubeconfigEnv() {
		t.Error("kubectl-berth: got a kubeconfig that does not exist, want none")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	programCommand("berth", nil)
	if cli.HasKubeconfigEnv() {
		t.Error("berth: got the kubeconfig of kubectl, want none")
	}
	programCommand("kubectl-berth", nil)
	if got := os.Getenv("KUBECONFIG"); got != file {
		t.Errorf("got KUBECONFIG %q, want %q", got, file)
	}
}
