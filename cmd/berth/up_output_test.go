package main

import "testing"

// TestNextCommand checks that the first command to try needs no file.
func TestNextCommand(t *testing.T) {
	for want, f := range map[string]upLocalNodes{
		"create deployment web --image web --replicas 3":      {},
		"run idle --image berth.dev/pause:1":                  {virtualNodes: 1},
		"get nodes":                                           {realNode: true, virtualNodes: 1},
		"run web --image berth.dev/workload:1 -- -listen=:80": {realNode: true, embedded: embeddedNodes{realNode: true}},
	} {
		if got := f.nextCommand(); got != want {
			t.Errorf("%+v: got %q, want %q", f, got, want)
		}
	}
}

// TestShellQuote checks that a shell reads a quoted path as it is.
func TestShellQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/home/ann/.local/state/berth/kubeconfig": "/home/ann/.local/state/berth/kubeconfig",
		"/tmp/two words/kubeconfig":               "'/tmp/two words/kubeconfig'",
		"/tmp/ann's":                              `'/tmp/ann'\''s'`,
	} {
		if got := shellQuote(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
