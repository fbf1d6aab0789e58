package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/config"
)

// policyText is a policy with a number that a float64 cannot represent.
const policyText = `apiVersion: "descheduler/v1alpha2"
kind: "DeschedulerPolicy"
maxNoOfPodsToEvictPerNode: 9007199254740993
profiles:
- name: default
  pluginConfig: [{name: RemoveFailedPods}]
  plugins: {deschedule: {enabled: [RemoveFailedPods]}}
`

// indent indents each line of a text.
func indent(text string, width int) string {
	return strings.ReplaceAll("\n"+strings.TrimSuffix(text, "\n"), "\n", "\n"+strings.Repeat(" ", width)) + "\n"
}

func TestDeschedulerDocument(t *testing.T) {
	_, withoutHeader, _ := strings.Cut(policyText, "\"DeschedulerPolicy\"\n")
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: descheduler}\ndata:\n  policy.yaml: |" + indent(policyText, 4)
	for name, tc := range map[string]struct{ text, want, version string }{
		"a policy":                              {text: policyText},
		"a ConfigMap":                           {text: configMap},
		"the chart's objects":                   {text: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: descheduler}\n---\n" + configMap + "---\napiVersion: batch/v1\nkind: CronJob\n"},
		"the chart's values":                    {text: "kind: CronJob\nimage: {tag: v0.34.0}\ndeschedulerPolicy:" + indent(withoutHeader, 2)},
		"other values":                          {text: "image: {tag: v0.34.0}\n", want: "apiVersion and kind must be set"},
		"values":                                {text: "image: {tag: v0.34.0}\ndeschedulerPolicyAPIVersion: descheduler/v1alpha2\ndeschedulerPolicy:" + indent(withoutHeader, 2)},
		"values of v1alpha1":                    {text: "deschedulerPolicyAPIVersion: descheduler/v1alpha1\ndeschedulerPolicy: {strategies: {RemoveFailedPods: {enabled: true}}}\n", version: "descheduler/v1alpha1"},
		"values of a chart without API version": {text: "deschedulerPolicy: {strategies: {RemoveFailedPods: {enabled: true}}}\n", version: "descheduler/v1alpha1"},
		"a ConfigMap without the key":           {text: strings.Replace(configMap, "policy.yaml", "other", 1), want: "a ConfigMap with the key policy.yaml"},
		"a policy and another object":           {text: policyText + "---\n" + strings.Replace(configMap, "policy.yaml", "other", 1), want: "has 2 documents"},
		"two policies":                          {text: policyText + "---\n" + policyText, want: "has 2 documents"},
		"an invalid policy in the map":          {text: strings.Replace(configMap, "profiles:", "profiles", 1), want: "ConfigMap data[policy.yaml]"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := config.DeschedulerDocument(file)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got error %v, want one with %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.version != "" && d.APIVersion != tc.version || tc.version == "" && !strings.Contains(string(d.JSON), "9007199254740993") {
				t.Errorf("got version %s, want %q, of %s", d.APIVersion, tc.version, d.JSON)
			}
			if _, err := config.ReadDescheduler(d, config.DeschedulerReadOptions{}); err != nil && !strings.Contains(err.Error(), "9007199254740993: must be at most") {
				t.Error(err)
			}
		})
	}
}
