package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is the part of a Grafana dashboard that the test reads.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Targets []struct{ Expr string }
	}
}

// documentedMetric matches a row of the metrics reference: name, type and labels.
var documentedMetric = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|")

// metricsReference returns the time series of docs/reference/metrics.md, each with its labels.
func metricsReference(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for _, m := range documentedMetric.FindAllStringSubmatch(string(data), -1) {
		labels := regexp.MustCompile("[a-z_]+").FindAllString(m[3], -1)
		if m[2] != "histogram" {
			series[m[1]] = labels
			continue
		}
		series[m[1]+"_sum"], series[m[1]+"_count"] = labels, labels
		series[m[1]+"_bucket"] = append(slices.Clone(labels), "le")
	}
	if len(series) < 40 {
		t.Fatalf("found %d time series, want at least 40: the parser is broken", len(series))
	}
	return series
}

var (
	seriesName = regexp.MustCompile(`[a-z]+(?:_[a-z]+)+`)
	byLabels   = regexp.MustCompile(`\bby \(([a-z_, ]+)\)`)
)

// otherWords are words with an underscore in queries that are not names of time series.
var otherWords = []string{"histogram_quantile", "__rate_interval", "rate_interval"}

// TestDashboardMetricsExist checks that the metrics reference lists each metric of the dashboard, with the labels that
// its queries group by.
func TestDashboardMetricsExist(t *testing.T) {
	data, err := os.ReadFile("grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	reference, ids := metricsReference(t), map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || len(p.Targets) == 0 {
			t.Errorf("panel %q has ID %d and %d queries, want a unique ID and at least one query", p.Title, p.ID, len(p.Targets))
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			checkQuery(t, reference, p.Title, target.Expr)
		}
	}
}

// checkQuery checks the metrics and labels of one query.
func checkQuery(t *testing.T, reference map[string][]string, panel, query string) {
	t.Helper()
	var labels, grouped []string
	found := false
	for _, m := range byLabels.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			grouped = append(grouped, strings.TrimSpace(label))
		}
	}
	for _, name := range seriesName.FindAllString(byLabels.ReplaceAllString(query, ""), -1) {
		if slices.Contains(otherWords, name) {
			continue
		}
		found = true
		metricLabels, ok := reference[name]
		if !ok {
			t.Errorf("panel %q: docs/reference/metrics.md does not list %s", panel, name)
		}
		labels = append(labels, metricLabels...)
	}
	if !found {
		t.Errorf("panel %q: query %q has no metric, want at least one", panel, query)
	}
	for _, label := range grouped {
		if !slices.Contains(labels, label) {
			t.Errorf("panel %q: query %q groups by %q, want one of its metric's labels %q", panel, query, label, labels)
		}
	}
}
