package podvalidation

import "testing"

func TestSecurityAndNetworkAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"a user namespace excludes the host network", `spec: {hostUsers: false, hostNetwork: true}`,
			[]string{"spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false"}},
		{"a Localhost profile needs a name", `spec: {securityContext: {seccompProfile: {type: Localhost}}}`,
			[]string{`spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`}},
		{"sysctl names are unique", `spec: {securityContext: {sysctls: [{name: kernel.shm, value: "1"}, {name: kernel.shm, value: "2"}]}}`,
			[]string{`spec.securityContext.sysctls[1].name: Duplicate value: "kernel.shm"`}},
		{"dnsPolicy None needs nameservers", `spec: {dnsPolicy: None}`,
			[]string{"spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"}},
		{"a host alias needs an IP address", `spec: {hostAliases: [{ip: a, hostnames: [b]}]}`,
			[]string{`spec.hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`}},
		{"a Linux pod has no Windows options", `spec: {os: {name: linux}, securityContext: {windowsOptions: {runAsUserName: x}}}`,
			[]string{`spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`}},
		{"the operating system must be supported", `spec: {os: {name: plan9}}`,
			[]string{`spec.os: Unsupported value: "plan9": supported values: "linux", "windows"`}},
	})
}
