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
	{"embedded", "[sig-apps] Job should allow to use the pod failure policy on exit code to fail the job early", privileged},
	{"embedded", "[sig-apps] Job should allow to use a pod failure policy to ignore failure matching on DisruptionTarget condition", privileged},
	{"embedded", "[sig-node] PrivilegedPod", privileged},
	{"containerd", "[sig-node] PrivilegedPod", "It needs dummy network devices, which the kernel of the test machine does not have."},
	{"", "[sig-network] DNS configMap nameserver", "It configures CoreDNS, but Berth has its own cluster DNS."},
	{"", "[sig-network] Services should fallback to local terminating endpoints when there are no ready endpoints with externalTrafficPolicy=Local", sharedNetwork},
	{"", "[sig-network] Services should respect internalTrafficPolicy=Local Pod (hostNetwork: true) to Pod", sharedNetwork},
	{"", "[sig-network] Services should respect internalTrafficPolicy=Local Pod and Node, to Pod (hostNetwork: true)", sharedNetwork},
}

// Reasons of several specs.
const (
	privileged    = "Its pods are privileged, which the embedded runtime refuses."
	sharedNetwork = "hostNetwork pods of all virtual nodes share the network of the machine, so policy Local does not distinguish their nodes."
)

// expectedReason returns the reason of an expected failure, or "" if the spec is expected to pass.
func expectedReason(runtime, spec string) string {
	for _, e := range expectedFailures {
		if (e.runtime == "" || e.runtime == runtime) && strings.HasPrefix(spec, e.prefix) {
			return e.reason
		}
	}
	return ""
}
