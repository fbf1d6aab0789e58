package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestInvalidInputs checks that the displacement commands exit with code 1 if a flag, an argument, a file or an object
// is invalid. The message names the error.
func TestInvalidInputs(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server("--disable-admission-plugins", "ServiceAccount")
	option := func(name, text string) []string {
		return []string{"config", "--config", h.write(name+".yaml", "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"+text+"\n")}
	}
	object := func(name, text string) []string {
		return []string{"kubectl", "--kubeconfig", c.kubeconfig, "create", "-f", h.write(name+".yaml", text)}
	}
	withKubeconfig := func(args ...string) []string { return append(args, "--kubeconfig", c.kubeconfig) }
	const lease = "--leader-elect-lease-duration"
	for name, tc := range map[string]struct {
		args  []string
		words []string
	}{
		"controller, unknown name":                   {withKubeconfig("controller", "taintevictions"), []string{`controller "taintevictions"`, "tainteviction"}},
		"controller, duplicate name":                 {withKubeconfig("controller", "tainteviction", "tainteviction"), []string{`controller "tainteviction"`, "twice"}},
		"controller, unknown name in --upstream-off": {withKubeconfig("controller", "tainteviction", "--upstream-off", "taintevicton"), []string{"--upstream-off", `"taintevicton"`}},
		"controller, not selected":                   {withKubeconfig("controller", "tainteviction", "--upstream-off", "podgc"), []string{"--upstream-off", `"podgc"`, "tainteviction"}},
		"controller, lease too short":                {withKubeconfig("controller", lease, "2s"), []string{"lease duration 2s", "renew deadline 10s"}},
		"controller, empty Lease name":               {withKubeconfig("controller", "--leader-elect-resource-name", ""), []string{"Lease", "required"}},
		"controller, invalid duration":               {withKubeconfig("controller", lease, "soon"), []string{lease, "soon"}},
		"controller, journal is a file":              {withKubeconfig("controller", "--journal", h.write("file", "")), []string{"--journal", "file"}},
		"controller, no permission":                  {[]string{"controller", "--kubeconfig", c.credential("n1", "--node", "n1")}, []string{"system:node:n1", "is not allowed to list namespaces", "--for controller"}},
		"drain, no node given":                       {withKubeconfig("drain"), []string{"no node given"}},
		"drain, unknown node":                        {withKubeconfig("drain", "nowhere", "--what-if"), []string{"nowhere", "not found"}},
		"drain, a dump":                              {[]string{"drain", "n1", "-f", h.write("dump.yaml", "apiVersion: v1\nkind: List\nitems: []\n")}, []string{"-f", "--what-if"}},
		"drain, negative timeout":                    {withKubeconfig("drain", "n1", "--timeout", "-3s"), []string{"--timeout", "-3s"}},
		"drain, bad selector":                        {withKubeconfig("drain", "n1", "--pod-selector", "a=b=c"), []string{"--pod-selector", "a=b=c"}},
		"drain, output":                              {withKubeconfig("drain", "n1", "-o", "xml"), []string{"-o", `"xml"`}},
		"evictions, negative --since":                {withKubeconfig("evictions", "--since", "-1h"), []string{"--since", "-1h"}},
		"evictions, unknown cause":                   {withKubeconfig("evictions", "--cause", "Boredom"), []string{"Boredom"}},
		"evictions, -n and -A":                       {withKubeconfig("evictions", "-n", "a", "-A"), []string{"-n", "-A"}},
		"evictions, missing journal":                 {withKubeconfig("evictions", "--journal", h.path("nowhere")), []string{"--journal", "nowhere"}},
		"evictions, output":                          {withKubeconfig("evictions", "-o", "xml"), []string{"-o", `"xml"`}},
		"explain displacement, unknown pod":          {withKubeconfig("explain", "displacement", "default/missing"), []string{"default/missing", "no displacement found"}},
		"explain displacement, no pod":               {withKubeconfig("explain", "displacement"), []string{"0 arguments given", "one pod"}},
		"zones, extra argument":                      {withKubeconfig("zones", "east"), []string{"east"}},
		"zones, output":                              {withKubeconfig("zones", "-o", "xml"), []string{"-o", `"xml"`}},
		"option budgets.severalMatch":                {option("several", "budgets: {severalMatch: or}"), []string{"several.yaml", "budgets.severalMatch", `"or"`, "and", "refuse"}},
		"option nodeLifecycle, range":                {option("grace", "nodeLifecycle: {gracePeriodSeconds: 0}"), []string{"nodeLifecycle.gracePeriodSeconds", "0", "between 2 and 86400"}},
		"option nodeLifecycle, ratio":                {option("share", "nodeLifecycle: {unhealthyZoneThreshold: 55}"), []string{"nodeLifecycle.unhealthyZoneThreshold", "55", "between 0 and 1"}},
		"option podGC, negative":                     {option("cap", "podGC: {evictedCap: -1}"), []string{"podGC.evictedCap", "-1"}},
		"option taints, unknown":                     {option("frozen", "taints: {frozenDeadlines: true}"), []string{"frozenDeadlines", "frozenDeadline"}},
		"option holds, maximum below minimum":        {option("holds", "holds: {initialSeconds: 700}"), []string{"holds", "700", "600"}},
		"option holds, not a boolean":                {option("avoid", "holds: {avoid: often}"), []string{"avoid.yaml", "holds.avoid"}},
		"budget, minAvailable and maxUnavailable":    {object("both", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: both}\nspec: {minAvailable: 1, maxUnavailable: 1, selector: {}}\n"), []string{"spec", "minAvailable", "maxUnavailable"}},
		"budget, percentage above 100":               {object("much", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: much}\nspec: {minAvailable: 101%, selector: {}}\n"), []string{"spec.minAvailable", "101%"}},
		"deployment, selector does not match":        {object("foreign", workload("apps/v1", "Deployment", "selector: {matchLabels: {app: other}}, ")), []string{"spec.template.metadata.labels", "selector"}},
		"deployment, maxSurge and maxUnavailable 0":  {object("stuck", workload("apps/v1", "Deployment", "selector: {matchLabels: {app: a}}, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}, ")), []string{"maxUnavailable"}},
		"statefulset, negative":                      {object("minus", workload("apps/v1", "StatefulSet", "selector: {matchLabels: {app: a}}, replicas: -1, ")), []string{"spec.replicas", "-1"}},
		"job that always restarts its pods":          {object("always", workload("batch/v1", "Job", "")), []string{"spec.template.spec.restartPolicy", "OnFailure", "Never"}},
		"cronjob, no schedule":                       {object("cron", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: w}\nspec: {schedule: every noon, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}}\n"), []string{"spec.schedule", "every noon"}},
		"eviction of a missing pod":                  {[]string{"kubectl", "--kubeconfig", c.kubeconfig, "create", "--raw", "/api/v1/namespaces/default/pods/missing/eviction", "-f", h.write("eviction.json", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"missing"}}`)}, []string{"missing", "not found"}},
		"eviction with another name":                 {[]string{"kubectl", "--kubeconfig", c.kubeconfig, "create", "--raw", "/api/v1/namespaces/default/pods/missing/eviction", "-f", h.write("other.json", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"other"}}`)}, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.run(tc.args...)
			if r.code != 1 || strings.Contains(r.stderr, "panic") || strings.Contains(r.stderr, "goroutine") {
				t.Errorf("got %s, want exit code 1 and a message", r)
			}
			for _, w := range tc.words {
				if !strings.Contains(r.stderr, w) {
					t.Errorf("got %s, want a message with %q", r, w)
				}
			}
		})
	}
}

// workload returns a workload with one container. fields are additional fields of its spec, each with a
// comma after it.
func workload(version, kind, fields string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: w}\nspec: {%stemplate: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: x}]}}}\n", version, kind, fields)
}
