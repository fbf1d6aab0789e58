package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
)

// TestUpstreamFlags checks that a command accepts each flag of the component that it replaces, or
// names what replaces the flag.
func TestUpstreamFlags(t *testing.T) {
	text, err := os.ReadFile("testdata/upstream_flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var options bytes.Buffer
	if err := config.Print(&options, config.Default()); err != nil {
		t.Fatal(err)
	}
	berthField := regexp.MustCompile(`set ([a-zA-Z]+)\.([a-zA-Z]+) in a BerthConfiguration`)
	kubeletField := regexp.MustCompile(`set ([a-zA-Z]+)[^ ]* (?:.*)in a KubeletConfiguration`)
	for section := range strings.SplitSeq(strings.TrimPrefix(string(text), "# "), "\n# ") {
		title, names, _ := strings.Cut(section, "\n")
		command, _, _ := strings.Cut(title, ":")
		cmd, _, err := rootCommand().Find([]string{command})
		if err != nil {
			t.Fatal(err)
		}
		flags := strings.Fields(names)
		if len(flags) < 30 {
			t.Errorf("%s: got %d flags in testdata, want at least 30", command, len(flags))
		}
		for _, name := range flags {
			if cmd.Flags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil {
				continue
			}
			hint := cli.FlagError(cmd, cmd.Flags().Parse([]string{"--" + name + "=x"})).Error()
			if !strings.HasPrefix(hint, "--"+name+" is a flag of ") {
				t.Errorf("berth %s --%s: got %q, want what replaces the flag", command, name, hint)
			}
			if m := berthField.FindStringSubmatch(hint); m != nil && !regexp.MustCompile(`(?ms)^`+m[1]+`:$.*^  `+m[2]+`:`).MatchString(options.String()) {
				t.Errorf("berth %s --%s: BerthConfiguration has no field %s.%s", command, name, m[1], m[2])
			}
			if m := kubeletField.FindStringSubmatch(hint); m != nil && !config.HasKubeletEffect(m[1]) {
				t.Errorf("berth %s --%s: the field %s of KubeletConfiguration has no effect", command, name, m[1])
			}
		}
	}
}

// TestUpstreamFlagHint checks the text for one flag.
func TestUpstreamFlagHint(t *testing.T) {
	for args, want := range map[string]string{
		"agent --pods-per-core=3":           "--pods-per-core is a flag of the kubelet that `berth agent` does not have: set podsPerCore in a KubeletConfiguration and pass the file with --config",
		"controller --node-eviction-rate=1": "--node-eviction-rate is a flag of kube-controller-manager that `berth controller` does not have: set nodeLifecycle.evictionRate in a BerthConfiguration and pass the file with --config",
		"scheduler --kube-api-qps 5":        "set clientConnection.qps in a KubeSchedulerConfiguration",
		"descheduler --node-selector=a":     "the policy of --policy-config-file has nodeSelector",
		"scheduler --hostname-override=n1":  "unknown flag: --hostname-override",
	} {
		fields := strings.Fields(args)
		cmd, arguments, err := rootCommand().Find(fields)
		if err != nil {
			t.Fatal(err)
		}
		if err := cli.FlagError(cmd, cmd.Flags().Parse(arguments)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", args, err, want)
		}
	}
}
