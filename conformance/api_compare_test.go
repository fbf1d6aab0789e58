package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"sort"
	"strings"
)

// newAPIResponse converts a response to the form of the recordings.
func newAPIResponse(code int, header http.Header, raw []byte, watch bool) apiResponse {
	a := apiResponse{Code: code, RetryAfter: header.Get("Retry-After"), StatusLine: fmt.Sprintf("HTTP/1.1 %d %s", code, http.StatusText(code))}
	for _, w := range header.Values("Warning") {
		a.Warnings = append(a.Warnings, warningText(w))
	}
	if watch && code == http.StatusOK {
		a.Events = []any{}
		for line := range bytes.Lines(raw) {
			var event any
			if json.Unmarshal(line, &event) == nil {
				a.Events = append(a.Events, normalizeObject(event))
			}
		}
		return a
	}
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		a.Text = string(raw)
		return a
	}
	if object["kind"] == "Status" {
		a.Status = statusOf(object)
		return a
	}
	a.Object = normalizeObject(object)
	return a
}

func warningText(header string) string {
	_, text, found := strings.Cut(header, `- "`)
	if !found {
		return header
	}
	text = strings.TrimSuffix(text, `"`)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text)
}

// statusOf converts a Status object to the form of the recordings.
func statusOf(object map[string]any) *apiStatus {
	s := &apiStatus{Reason: asString(object["reason"]), Message: asString(object["message"])}
	if object["status"] == "Success" {
		s.Status = "Success"
	}
	details, _ := object["details"].(map[string]any)
	for _, key := range []string{"name", "group", "kind", "uid"} {
		if v := asString(details[key]); v != "" {
			if s.Details == nil {
				s.Details = map[string]string{}
			}
			s.Details[key] = v
		}
	}
	if n, ok := details["retryAfterSeconds"].(float64); ok {
		s.RetryAfterSeconds = int(n)
	}
	causes, _ := details["causes"].([]any)
	for _, c := range causes {
		c, _ := c.(map[string]any)
		s.Causes = append(s.Causes, apiCause{Reason: asString(c["reason"]), Field: asString(c["field"]), Message: asString(c["message"])})
	}
	return s
}

func asString(v any) string { s, _ := v.(string); return s }

// normalizeObject removes the fields that differ between any two servers.
func normalizeObject(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v["kind"] == "Table" {
			return normalizeTable(v)
		}
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = normalizeObject(x)
			if m, ok := out[k].(map[string]any); ok && k == "metadata" {
				for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
					delete(m, name)
				}
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normalizeObject(v[i])
		}
		return out
	}
	return value
}

// normalizeTable removes everything from a Table but the columns, without their descriptions, and the cells.
func normalizeTable(table map[string]any) any {
	columns := []any{}
	definitions, _ := table["columnDefinitions"].([]any)
	for _, c := range definitions {
		c, _ := c.(map[string]any)
		delete(c, "description")
		columns = append(columns, c)
	}
	rows := []any{}
	tableRows, _ := table["rows"].([]any)
	for _, row := range tableRows {
		row, _ := row.(map[string]any)
		rows = append(rows, row["cells"])
	}
	return map[string]any{"kind": "Table", "columnDefinitions": columns, "rows": rows}
}

// compare returns the differences between a response and the recorded one.
func (r *vectorReplay) compare(want, got apiResponse) []string {
	var out []string
	reportf := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if want.Code != got.Code {
		reportf("code is %d, want %d", got.Code, want.Code)
	}
	if want.Text != got.Text {
		reportf("text is %q, want %q", got.Text, want.Text)
	}
	if want.StatusLine != "" && want.StatusLine != got.StatusLine {
		reportf("status line is %q, want %q", got.StatusLine, want.StatusLine)
	}
	if want.RetryAfter != got.RetryAfter {
		reportf("Retry-After is %q, want %q", got.RetryAfter, want.RetryAfter)
	}
	out = append(out, r.differences("warnings", toAny(want.Warnings), toAny(got.Warnings))...)
	out = append(out, r.statusDifferences(want.Status, got.Status)...)
	out = append(out, r.differences("object", want.Object, got.Object)...)
	out = append(out, r.differences("events", anyOrNil(want.Events), anyOrNil(got.Events))...)
	return out
}

func toAny(texts []string) any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// anyOrNil returns an untyped nil for nil events.
func anyOrNil(events []any) any {
	if events == nil {
		return nil
	}
	return events
}

func (r *vectorReplay) statusDifferences(want, got *apiStatus) []string {
	if (want == nil) != (got == nil) {
		return []string{fmt.Sprintf("status is %s, want %s", compactJSON(got), compactJSON(want))}
	}
	if want == nil {
		return nil
	}
	var out []string
	reportf := func(field string, got, want any) {
		out = append(out, fmt.Sprintf("status.%s is %v, want %v", field, got, want))
	}
	if want.Reason != got.Reason || want.Status != got.Status || want.RetryAfterSeconds != got.RetryAfterSeconds {
		reportf("reason, status, retryAfterSeconds", []any{got.Reason, got.Status, got.RetryAfterSeconds}, []any{want.Reason, want.Status, want.RetryAfterSeconds})
	}
	for _, key := range []string{"name", "group", "kind", "uid"} {
		if !r.matches(want.Details[key], got.Details[key]) {
			reportf("details."+key, got.Details[key], want.Details[key])
		}
	}
	if !r.matchesMessage(want.Message, got.Message) {
		reportf("message", "\n      "+got.Message, "\n      "+want.Message)
	}
	return append(out, r.causeDifferences(want.Causes, got.Causes)...)
}

func (r *vectorReplay) causeDifferences(want, got []apiCause) []string {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("causes are\n      %s, want\n      %s", compactJSON(got), compactJSON(want))}
	}
	var out []string
	for i := range want {
		w, g := want[i], got[i]
		if w.Reason != g.Reason || !r.matches(w.Field, g.Field) || !r.matchesMessage(w.Message, g.Message) {
			out = append(out, fmt.Sprintf("cause %d is\n      %s, want\n      %s", i, compactJSON(g), compactJSON(w)))
		}
	}
	return out
}

// differences compares two JSON values and returns a description of each path that differs.
func (r *vectorReplay) differences(path string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		keys := map[string]bool{}
		for k := range w {
			keys[r.expand(k)] = true
		}
		for k := range g {
			keys[k] = true
		}
		expected := map[string]any{}
		for k, v := range w {
			expected[r.expand(k)] = v
		}
		var out []string
		for _, k := range sortedKeys(keys) {
			wantValue, inWant := expected[k]
			gotValue, inGot := g[k]
			switch {
			case !inWant:
				out = append(out, fmt.Sprintf("%s.%s is %s, want it absent", path, k, compactJSON(gotValue)))
			case !inGot:
				out = append(out, fmt.Sprintf("%s.%s is absent, want %s", path, k, compactJSON(wantValue)))
			default:
				out = append(out, r.differences(path+"."+k, wantValue, gotValue)...)
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var out []string
		for i := range w {
			out = append(out, r.differences(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return out
	case string:
		if g, ok := got.(string); ok && (r.matches(w, g) || bothFixedAges(w, g)) {
			return nil
		}
		if n, ok := got.(float64); ok && w == "$nodePort" && n >= 30000 && n <= 32767 {
			return nil
		}
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %s, want %s", path, compactJSON(got), compactJSON(want))}
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// compactJSON returns the JSON of a value, cut after 600 bytes.
func compactJSON(v any) string {
	raw, _ := json.Marshal(v)
	if len(raw) > 600 {
		raw = append(raw[:600], "..."...)
	}
	return string(raw)
}

// placeholders maps the placeholders of a recording to regular expressions of the values that
// the server generates.
var placeholders = map[string]string{
	"$time":      `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`,
	"$uid":       `[0-9a-f]{8}-[0-9a-f-]{27}`,
	"$n":         `\d+`,
	"$continue":  `[\w=-]+`,
	"$age":       `(<unknown>|<invalid>|[\dsmhdy]+)`,
	"$suffix":    `[a-z0-9]{5}`,
	"$clusterIP": `10\.96\.\d+\.\d+`,
	"$nodePort":  `3[0-2]\d{3}`,
	"$diff":      `(?s:.*)`,
}

var (
	placeholder = regexp.MustCompile(`\$(time|uid|continue|age|suffix|clusterIP|nodePort|diff|ns|n|u)`)
	oldAge      = regexp.MustCompile(`^\d+y(\d+d)?$`)
)

// bothFixedAges reports whether both texts are ages of years. These are ages of fixed dates, which were recorded
// on another day.
func bothFixedAges(want, got string) bool {
	return oldAge.MatchString(want) && oldAge.MatchString(got)
}

// matches reports whether got is the recorded text want, which may contain placeholders.
func (r *vectorReplay) matches(want, got string) bool {
	if want == got {
		return true
	}
	var pattern strings.Builder
	pattern.WriteString("^")
	remaining := want
	for {
		location := placeholder.FindStringIndex(remaining)
		if location == nil {
			break
		}
		pattern.WriteString(regexp.QuoteMeta(remaining[:location[0]]))
		switch name := remaining[location[0]:location[1]]; name {
		case "$ns":
			pattern.WriteString(regexp.QuoteMeta(r.ns))
		case "$u":
			pattern.WriteString(regexp.QuoteMeta(r.suffix))
		default:
			pattern.WriteString(placeholders[name])
		}
		remaining = remaining[location[1]:]
		if strings.HasSuffix(pattern.String(), placeholders["$diff"]) {
			remaining = "" // the text after a diff is not compared
		}
	}
	pattern.WriteString(regexp.QuoteMeta(remaining) + "$")
	matched, err := regexp.MatchString(pattern.String(), got)
	return err == nil && matched
}

var (
	// internalValue matches a dump of an internal type of kube-apiserver.
	internalValue = regexp.MustCompile(`Invalid value: \{(?s:.*?)"[A-Z][A-Za-z]*":(?s:.*)`)
	internalType  = regexp.MustCompile(`\((core|apps|batch|policy|storage|scheduling|discovery|coordination|rbac)\.(\w+)\)`)
	schemeLine    = regexp.MustCompile(`"[\w./@-]*scheme\.go:\d+"`)
	// decoderText matches a message of the Go JSON decoder, which changes between releases.
	decoderText = regexp.MustCompile(`(json: cannot unmarshal|json parse error:)(?s:.*)`)
)

// matchesMessage reports whether two messages are equal except for the parts that depend on the implementation
// of kube-apiserver.
func (r *vectorReplay) matchesMessage(want, got string) bool {
	if location := internalValue.FindStringIndex(want); location != nil {
		return r.matchesPrefix(want[:location[0]+len("Invalid value")], got)
	}
	want = internalType.ReplaceAllString(want, "(v1.$2)")
	for _, pattern := range []*regexp.Regexp{schemeLine, decoderText} {
		want, got = pattern.ReplaceAllString(want, "*"), pattern.ReplaceAllString(got, "*")
	}
	return r.matches(want, got)
}

func (r *vectorReplay) matchesPrefix(want, got string) bool {
	for i := len(got); i >= 0; i-- {
		if r.matches(want, got[:i]) {
			return true
		}
	}
	return false
}
