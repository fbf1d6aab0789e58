package cli

import (
	"fmt"
	"strings"
)

// upstreamComponent is a Kubernetes component whose flags a command replaces.
type upstreamComponent struct {
	name  string
	flags map[string]string // the hint for each flag; see upstreamHint
}

// upstreamComponents lists the components that each command replaces. The first component that has a flag determines
// the hint. The last one has the flags in sharedFlags.
var upstreamComponents = map[string][]upstreamComponent{
	"agent":       {{"the kubelet", kubeletFlags}},
	"drain":       {{"kubectl drain", kubectlDrainFlags}},
	"scheduler":   {{"kube-scheduler", schedulerFlags}},
	"controller":  {{"kube-controller-manager", controllerManagerFlags}},
	"descheduler": {{"the Kubernetes descheduler", deschedulerFlags}},
	"up": {{"the kubelet", upKubeletFlags}, {"kube-scheduler", upSchedulerFlags}, {"kube-controller-manager", upControllerManagerFlags},
		{"the Kubernetes descheduler", upDeschedulerFlags}, {"the kubelet", kubeletFlags}, {"the Kubernetes descheduler", deschedulerFlags},
		{"kube-controller-manager", controllerManagerFlags}, {"kube-scheduler", schedulerFlags}},
}

// Prefixes of hints that consist of a configuration kind and the path of a field in it.
const (
	kubeletField   = "KubeletConfiguration "
	schedulerField = "KubeSchedulerConfiguration "
	berthField     = "BerthConfiguration "
)

// upstreamHint returns an error message about an upstream flag that a command does not have, with the replacement of
// the flag. It returns "" if the replaced components have no such flag.
func upstreamHint(command, flag string) string {
	components := upstreamComponents[command]
	for _, c := range components {
		if hint, found := c.flags[flag]; found {
			return c.message(command, flag, hint)
		}
	}
	if hint, found := sharedFlags[flag]; found && len(components) > 0 {
		return components[len(components)-1].message(command, flag, hint)
	}
	return ""
}

func (c upstreamComponent) message(command, flag, hint string) string {
	for _, kind := range []string{kubeletField, schedulerField, berthField} {
		if path, ok := strings.CutPrefix(hint, kind); ok {
			hint = fmt.Sprintf("set %s in a %s and pass the file with --config", path, strings.TrimSpace(kind))
		}
	}
	return fmt.Sprintf("--%s is a flag of %s that `berth %s` does not have: %s", flag, c.name, command, hint)
}

// Hints that several flags share.
const (
	noServingOption = "the certificate for metrics is the component's own; clients are authorized by the API server"
	noLogOption     = "logs are text on standard error; -v sets their verbosity"
	noMetricOption  = "all metrics are served, none are hidden"
	noConcurrency   = "Berth's controllers have a fixed number of workers"
	noOption        = "Berth has no such option"
	useKubeconfig   = "the server is that of --kubeconfig"
	useMetrics      = "use --metrics-bind-address"
	leaseOnly       = "the lock is a Lease"
)

// sharedFlags holds the hints for flags that components share: logs, serving, feature gates.
var sharedFlags = map[string]string{
	"feature-gates": "features with an option are in BerthConfiguration (`berth config`); the others cannot be switched",

	"logging-format": noLogOption, "log-flush-frequency": noLogOption, "log-json-info-buffer-size": noLogOption, "log-json-split-stream": noLogOption,
	"log-text-info-buffer-size": noLogOption, "log-text-split-stream": noLogOption, "vmodule": noLogOption,

	"authentication-kubeconfig": noServingOption, "authentication-skip-lookup": noServingOption, "authentication-token-webhook-cache-ttl": noServingOption,
	"authentication-tolerate-lookup-failure": noServingOption, "authorization-always-allow-paths": noServingOption, "authorization-kubeconfig": noServingOption,
	"authorization-webhook-cache-authorized-ttl": noServingOption, "authorization-webhook-cache-unauthorized-ttl": noServingOption, "cert-dir": noServingOption,
	"client-ca-file": noServingOption, "disable-http2-serving": noServingOption, "http2-max-streams-per-connection": noServingOption, "permit-address-sharing": noServingOption,
	"permit-port-sharing": noServingOption, "requestheader-allowed-names": noServingOption, "requestheader-client-ca-file": noServingOption,
	"requestheader-extra-headers-prefix": noServingOption, "requestheader-group-headers": noServingOption, "requestheader-uid-headers": noServingOption,
	"requestheader-username-headers": noServingOption, "tls-cert-file": noServingOption, "tls-cipher-suites": noServingOption, "tls-curve-preferences": noServingOption,
	"tls-min-version": noServingOption, "tls-private-key-file": noServingOption, "tls-sni-cert-key": noServingOption,
	"allow-metric-labels": noMetricOption, "allow-metric-labels-manifest": noMetricOption, "disabled-metrics": noMetricOption, "show-hidden-metrics-for-version": noMetricOption,

	"emulated-version": noOption, "emulation-forward-compatible": noOption, "runtime-config-emulation-forward-compatible": noOption, "min-compatibility-version": noOption,
}
