package main

import "testing"

func TestChooseShell(t *testing.T) {
	for _, c := range []struct {
		environment []string
		network     bool
		want        string
	}{
		{[]string{"A=b-c.d", "PATH=/bin"}, false, "/bin/busybox"},
		{[]string{"A=b", "data-1=x"}, false, "/bin/bash"},
		{[]string{"A=b"}, true, "/bin/bash"},
	} {
		if got := chooseShell(c.environment, c.network); got != c.want {
			t.Errorf("chooseShell(%q, %t) = %s, want %s", c.environment, c.network, got, c.want)
		}
	}
}
