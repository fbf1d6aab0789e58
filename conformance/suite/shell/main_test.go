package main

import "testing"

func TestChoose(t *testing.T) {
	for want, environment := range map[string][]string{"/bin/busybox": {"A=b-c.d", "PATH=/bin"}, "/bin/bash": {"A=b", "data-1=x"}} {
		if got := choose(environment); got != want {
			t.Errorf("%q: %s, want %s", environment, got, want)
		}
	}
}
