package main

import "strings"

// expectedFailure is a spec, or the specs of a name prefix, that fail for a known reason.
type expectedFailure struct {
	runtime string // "" for all
	prefix  string // of the spec's name
	reason  string
}

// expectedFailures lists the specs that are known to fail. The command reports every other failure with exit code 1.
var expectedFailures = []expectedFailure{
	{"", "[sig-node] ImageVolume", "Volumes of the type image are not mounted."},
}

// expectedReason returns why a spec is expected to fail, or "".
func expectedReason(runtime, spec string) string {
	for _, e := range expectedFailures {
		if (e.runtime == "" || e.runtime == runtime) && strings.HasPrefix(spec, e.prefix) {
			return e.reason
		}
	}
	return ""
}
