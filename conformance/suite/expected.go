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
	{"", "[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface", noAutoscaling},
	{"", "[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers", noAutoscaling},
	{"", "[sig-api-machinery] Discovery should locate the groupVersion and a resource within each APIGroup", noAutoscaling},
	{"", "[sig-auth] Certificates API", "The API does not serve CertificateSigningRequests."},
	{"", "[sig-node] Ephemeral Containers", "Ephemeral containers are not started."},
	{"", "[sig-node] ImageVolume", "Volumes of the type image are not mounted."},
	{"", "[sig-node] Pod InPlace Resize Container", "Containers are not resized in place."},
	{"", "[sig-network] ServiceCIDR and IPAddress API should support ServiceCIDR API operations", "No controller creates the ServiceCIDR `kubernetes`."},
}

const noAutoscaling = "The spec looks for HorizontalPodAutoscalers (autoscaling/v1), which the API does not serve."

// expectedReason returns why a spec is expected to fail, or "".
func expectedReason(runtime, spec string) string {
	for _, e := range expectedFailures {
		if (e.runtime == "" || e.runtime == runtime) && strings.HasPrefix(spec, e.prefix) {
			return e.reason
		}
	}
	return ""
}
