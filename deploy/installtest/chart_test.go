package installtest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const chartDir = "../chart"

// allValues returns values that enable each part of the chart.
func allValues() map[string]any {
	enabled := func() map[string]any { return map[string]any{"enabled": true} }
	return map[string]any{
		"controller": enabled(), "descheduler": enabled(), "guard": enabled(), "serviceMonitor": enabled(),
		"prometheusRule": enabled(),
	}
}

// render returns the release of `helm template`.
func render(t *testing.T, namespace string, values map[string]any) (*release.Release, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, "berth", namespace
	install.IncludeCRDs, install.KubeVersion = true, &common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	rendered, err := install.Run(chart, values)
	if err != nil {
		return nil, err
	}
	return rendered.(*release.Release), nil
}

// TestLint checks that `helm lint` reports nothing but the missing icon.
func TestLint(t *testing.T) {
	for _, values := range []map[string]any{nil, allValues()} {
		result := action.NewLint().Run([]string{chartDir}, values)
		for _, m := range result.Messages {
			if !strings.Contains(m.Error(), "icon is recommended") {
				t.Errorf("helm lint: %v", m)
			}
		}
		if result.TotalChartsLinted != 1 {
			t.Errorf("helm lint checked %d charts (errors %v), want 1", result.TotalChartsLinted, result.Errors)
		}
	}
}

// TestChartEqualsManifests checks that the chart grants the permissions, writes the configuration and runs the
// programs of the manifests in deploy/.
func TestChartEqualsManifests(t *testing.T) {
	rendered, err := render(t, "kube-system", allValues())
	if err != nil {
		t.Fatal(err)
	}
	chart := byName(decode(t, []byte(rendered.Manifest)))
	compared := map[string]bool{}
	for _, file := range []string{"hold-crd", "scheduler", "controller", "descheduler", "guard"} {
		for name, want := range byName(read(t, "../"+file+".yaml")) {
			got, ok := chart[name]
			if !ok {
				t.Errorf("the chart lacks %s of %s.yaml", name, file)
				continue
			}
			compared[name] = true
			for _, part := range sharedParts(t, want) {
				compare(t, name+" "+part.name, part.get(got), part.get(want))
			}
		}
	}
	for name, o := range chart {
		if strings.HasPrefix(o.GetAPIVersion(), "rbac.") && !compared[name] {
			t.Errorf("the chart has %s, which deploy/ lacks", name)
		}
	}
}

func TestDefaultsInstallOnlyTheScheduler(t *testing.T) {
	rendered, err := render(t, "berth", nil)
	if err != nil {
		t.Fatal(err)
	}
	var workloads []string
	for _, o := range decode(t, []byte(rendered.Manifest)) {
		if kind := o.GetKind(); kind == "Deployment" || kind == "DaemonSet" {
			workloads = append(workloads, o.GetName())
		}
		if ns := o.GetNamespace(); ns != "" && ns != "berth" && !strings.HasPrefix(o.GetAPIVersion(), "rbac.") {
			t.Errorf("%s %s is in namespace %s, want berth", o.GetKind(), o.GetName(), ns)
		}
	}
	if len(workloads) != 1 || workloads[0] != "berth-scheduler" {
		t.Errorf("got workloads %q, want only berth-scheduler", workloads)
	}
}

func TestImageReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, c := range []struct {
		image map[string]any
		want  string
	}{
		{map[string]any{"repository": "r.example/berth", "tag": "v2"}, "image: r.example/berth:v2"},
		{map[string]any{"repository": "r.example/berth", "digest": digest}, "image: r.example/berth@" + digest},
	} {
		rendered, err := render(t, "berth", map[string]any{"image": c.image})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rendered.Manifest, c.want+"\n") {
			t.Errorf("values %v: got manifest %s\nwant %q", c.image, rendered.Manifest, c.want)
		}
	}
}

// TestElectionLease checks that the scheduler may update the Lease that its configuration names, and that of Hold support.
func TestElectionLease(t *testing.T) {
	rendered, err := render(t, "berth", map[string]any{"scheduler": map[string]any{"config": map[string]any{
		"leaderElection": map[string]any{"resourceName": "second"}}}})
	if err != nil {
		t.Fatal(err)
	}
	role := byName(decode(t, []byte(rendered.Manifest)))["Role kube-system/berth-scheduler"]
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	if got := fmt.Sprint(rules[1].(map[string]any)["resourceNames"]); got != "[berth-scheduler second]" {
		t.Errorf("the scheduler may update Leases %s, want [berth-scheduler second]", got)
	}
}

func TestSchemaRejects(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		want   string
	}{
		{map[string]any{"schedular": map[string]any{}}, "schedular"},
		{map[string]any{"scheduler": map[string]any{"replicas": -1}}, "replicas"},
		{map[string]any{"scheduler": map[string]any{"config": map[string]any{"kind": "Pod"}}}, "kind"},
		{map[string]any{"controller": map[string]any{"controllers": []any{"desruption"}}}, "controllers"},
		{map[string]any{"descheduler": map[string]any{"interval": "often"}}, "interval"},
		{map[string]any{"image": map[string]any{"digest": "v1"}}, "digest"},
		{map[string]any{"service": map[string]any{"enabled": false}, "serviceMonitor": map[string]any{"enabled": true}}, "requires service.enabled"},
	} {
		if _, err := render(t, "berth", c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("values %v: got error %v, want one with %q", c.values, err, c.want)
		}
	}
}

// TestAlertMetricsExist checks that the metrics reference lists each metric of the alerts.
func TestAlertMetricsExist(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := render(t, "berth", allValues())
	if err != nil {
		t.Fatal(err)
	}
	rule := byName(decode(t, []byte(rendered.Manifest)))["PrometheusRule berth/berth-alerts"]
	if rule == nil {
		t.Fatal("the chart has no PrometheusRule berth-alerts")
	}
	groups, _, _ := unstructured.NestedSlice(rule.Object, "spec", "groups")
	found := 0
	for _, r := range groups[0].(map[string]any)["rules"].([]any) {
		expr, _ := r.(map[string]any)["expr"].(string)
		for _, metric := range regexp.MustCompile(`\b(berth|scheduler)_[a-z_]+`).FindAllString(expr, -1) {
			found++
			if !strings.Contains(string(reference), "`"+metric+"`") {
				t.Errorf("docs/reference/metrics.md does not list %s", metric)
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d metrics in alerts, want at least 3: the parser is broken", found)
	}
}
