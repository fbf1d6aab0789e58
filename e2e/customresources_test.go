package e2e

import (
	"strings"
	"testing"
)

// TestCustomResources checks kubectl with the definition in examples: create, explain, apply, scale, a CEL
// rule, and deletion of a namespace with custom resources.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "1")
	c.mustKubectl("apply", "-f", "../examples/widget-crd.yaml")
	c.mustKubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=180s")
	widget := func(spec string) string {
		return c.write("widget.yaml", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: "+spec+"}")
	}
	c.mustKubectl("create", "namespace", "team")
	expectContains(t, c.mustKubectl("apply", "-n", "team", "-f", widget("{color: red}")), "widget.example.com/w created")
	table := c.mustKubectl("get", "widgets", "-n", "team")
	expectColumns(t, table, "NAME COLOR REPLICAS")
	expectContains(t, table, "red", "1")
	expectContains(t, c.mustKubectl("explain", "widget.spec.color"), "Color of the widget.")
	for spec, want := range map[string]string{"{color: red, replicas: 4}": "replicas exceed max", "{color: red, colour: x}": `unknown field "spec.colour"`} {
		if r := c.kubectl("apply", "-n", "team", "-f", widget(spec)); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("spec %s: %s, want an error with %q", spec, r, want)
		}
	}
	expectContains(t, c.mustKubectl("apply", "-n", "team", "--server-side", "--force-conflicts", "-f", widget("{color: blue}")), "serverside-applied")
	c.mustKubectl("scale", "-n", "team", "widget/w", "--replicas=2")
	expectContains(t, c.mustKubectl("patch", "-n", "team", "widget", "w", "--type=merge", "-p", `{"spec":{"max":5}}`), "patched")
	expectContains(t, c.mustKubectl("get", "widget", "w", "-n", "team", "-o", "jsonpath={.spec.replicas} {.spec.max} {.spec.color}"), "2 5 blue")
	c.mustKubectl("delete", "namespace", "team", "--timeout=180s")
	if remaining := c.mustKubectl("get", "widgets", "-A", "-o", "name"); remaining != "" {
		t.Errorf("got widgets of the deleted namespace, want none: %s", remaining)
	}
	c.mustKubectl("delete", "crd", "widgets.example.com", "--timeout=180s")
	if r := c.kubectl("get", "widgets"); r.code != 1 || !strings.Contains(r.stderr, "the server") {
		t.Errorf("after the definition is deleted: got %s, want exit code 1", r)
	}
}
