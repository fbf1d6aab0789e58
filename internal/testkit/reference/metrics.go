package reference

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// descText matches the text of a prometheus.Desc: name, help, constant and variable labels.
var (
	descText   = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"),(?: unit: "[^"]*",)? constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	constLabel = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
)

type metric struct{ kind, labels, help string }

// Metrics formats a Markdown table of the metrics of collectors. A registry is a collector, too. A
// description has no type, so every metric needs a sample, or its vector must be passed as well.
// The metrics go_* and process_* are omitted, because they depend on the Go version.
func Metrics(t testing.TB, collectors ...prometheus.Collector) string {
	t.Helper()
	found := map[string]metric{}
	for _, c := range collectors {
		kinds := sampleKinds(t, c)
		for _, d := range descriptions(c) {
			name, m := parse(t, d)
			m.kind = cmp.Or(vectorKind(c), kinds[name], found[name].kind)
			found[name] = m
		}
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		m := found[name]
		if m.kind == "" {
			t.Errorf("the type of %s is unknown: pass its vector or a collector with a sample to Metrics", name)
		}
		rows = append(rows, []string{Code(name), m.kind, m.labels, m.help})
	}
	return Table([]string{"metric", "type", "labels", "meaning"}, rows)
}

func descriptions(c prometheus.Collector) []*prometheus.Desc {
	ch := make(chan *prometheus.Desc)
	go func() {
		c.Describe(ch)
		close(ch)
	}()
	var descs []*prometheus.Desc
	for d := range ch {
		descs = append(descs, d)
	}
	return descs
}

// sampleKinds returns the types of the metrics that have samples, by name.
func sampleKinds(t testing.TB, c prometheus.Collector) map[string]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	return kinds
}

// parse returns the name of a described metric, and its labels and help.
func parse(t testing.TB, d *prometheus.Desc) (string, metric) {
	t.Helper()
	m := descText.FindStringSubmatch(d.String())
	if m == nil {
		t.Fatalf("unexpected description %s", d)
	}
	name, err1 := strconv.Unquote(m[1])
	help, err2 := strconv.Unquote(m[2])
	if err1 != nil || err2 != nil {
		t.Fatalf("unexpected description %s", d)
	}
	var labels []string
	for _, c := range constLabel.FindAllStringSubmatch(m[3], -1) {
		labels = append(labels, c[1])
	}
	if m[4] != "" {
		labels = append(labels, strings.Split(m[4], ",")...)
	}
	for i := range labels {
		labels[i] = Code(labels[i])
	}
	// k8s.io/component-base writes the stability of a metric in its help.
	return name, metric{labels: strings.Join(labels, ", "), help: strings.TrimPrefix(help, "[ALPHA] ")}
}

// vectorKind returns the type of a vector's metrics, or "" for other collectors.
func vectorKind(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	}
	return ""
}
