package main

import "testing"

func TestChooseShell(t *testing.T) {
	for want, environment := range map[string][]string{"/bin/busybox": {"A=b-c.d", "PATH=/bin"}, "/bin/bash": {"A=b", "data-1=x"}} {
		if got := chooseShell(environment); got != want {
			t.Errorf("chooseShell(%q) = %s, want %s", environment, got, want)
		}
	}
}
