package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
)

// TestLocalNodeFlags checks that each invalid flag is rejected with its name and the
// accepted values.
func TestLocalNodeFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--node-labels=a b=c":                "--node-labels a b=c: ",
		"--node-labels=a=no value":           "--node-labels a=no value: ",
		"--register-with-taints=a=b":         `--register-with-taints "a=b": must be key=value:EFFECT`,
		"--register-with-taints=a=b:Never":   "NoSchedule, PreferNoSchedule or NoExecute",
		"--register-with-taints=:NoSchedule": "--register-with-taints",
		"--node-ip=host":                     `--node-ip "host": must be an IP address`,
		"--pod-cidr=10.1.2.3":                `--pod-cidr "10.1.2.3": must be a CIDR`,
		"--port=70000":                       "--port 70000: must be between 0 and 65535",
		"--cgroup=nodes/n7":                  `--cgroup "nodes/n7": must be a path`,
		"--root-dir=agent":                   `--root-dir "agent": must be an absolute path`,
		"--log-dir=logs":                     `--log-dir "logs": must be an absolute path`,
		"--low-diskspace-threshold-mb=-1":    "--low-diskspace-threshold-mb -1: must be a number of MiB of 0 or more",
		"--node-cpu=4":                       "--node-cpu: applies to simulated nodes: add --simulated",
		"--simulated --cgroup=/a":            "--cgroup: applies to a real node: remove it or --simulated",
		"--simulated --cluster-dns=10.0.0.1": "--cluster-dns: applies to a real node: remove it or --simulated",
		"--simulated --guard":                "--guard and --simulated",
		"--kubelet-eviction-off":             "--kubelet-eviction-off: has no effect without --guard",
	} {
		t.Run(flag, func(t *testing.T) {
			var f agentFlags
			flags := pflag.NewFlagSet("agent", pflag.ContinueOnError)
			f.addFlags(flags, "n7")
			var args []string
			for _, arg := range strings.Split(flag, "--")[1:] {
				args = append(args, "--"+strings.TrimSpace(arg))
			}
			if err := flags.Parse(args); err != nil {
				t.Fatal(err)
			}
			err := f.validate(flags)
			if err == nil {
				_, err = f.local.kubelet.fields()
			}
			if err == nil {
				_, err = f.local.options("n7")
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		})
	}
}

func TestParseTaint(t *testing.T) {
	for text, want := range map[string]corev1.Taint{
		"a=b:NoSchedule":            {Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule},
		"example.com/gpu:NoExecute": {Key: "example.com/gpu", Effect: corev1.TaintEffectNoExecute},
		"a=:PreferNoSchedule":       {Key: "a", Effect: corev1.TaintEffectPreferNoSchedule},
	} {
		if got, err := parseTaint(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}
