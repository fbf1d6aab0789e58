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

// newAPIResponse brings a response into the form of the recordings.
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

// warningText returns the text of `299 - "text"`.
func warningText(header string) string {
	_, text, found := strings.Cut(header, `- "`)
	if !found {
		return header
	}
	text = strings.TrimSuffix(text, `"`)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text)
}

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

// normalizeObject removes what differs between any two servers.
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

func normalizeTable(table map[string]any) any {
	columns := []any{}
	definitions, _ := table["columnDefinitions"].([]any)
	for _, c := range definitions {
		c, _ := c.(map[string]any)
		delete(c, "description")
		columns = append(columns, c)
	}
	rows := []any{}
	all, _ := table["rows"].([]any)
	for _, row := range all {
		row, _ := row.(map[string]any)
		rows = append(rows, row["cells"])
	}
	return map[string]any{"kind": "Table", "columnDefinitions": columns, "rows": rows}
}

// compare returns how a response differs from the recorded one.
func (r *vectorReplay) compare(want, have apiResponse) []string {
	var out []string
	reportf := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if want.Code != have.Code {
		reportf("code is %d, want %d", have.Code, want.Code)
	}
	if want.Text != have.Text {
		reportf("text is %q, want %q", have.Text, want.Text)
	}
	if want.StatusLine != "" && want.StatusLine != have.StatusLine {
		reportf("status line is %q, want %q", have.StatusLine, want.StatusLine)
	}
	if want.RetryAfter != have.RetryAfter {
		reportf("Retry-After is %q, want %q", have.RetryAfter, want.RetryAfter)
	}
	out = append(out, r.differences("warnings", toAny(want.Warnings), toAny(have.Warnings))...)
	out = append(out, r.statusDifferences(want.Status, have.Status)...)
	out = append(out, r.differences("object", want.Object, have.Object)...)
	out = append(out, r.differences("events", anyOrNil(want.Events), anyOrNil(have.Events))...)
	return out
}

func toAny(texts []string) any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

func anyOrNil(events []any) any {
	if events == nil {
		return nil
	}
	return events
}

func (r *vectorReplay) statusDifferences(want, have *apiStatus) []string {
	if (want == nil) != (have == nil) {
		return []string{fmt.Sprintf("status is %s, want %s", compactJSON(have), compactJSON(want))}
	}
	if want == nil {
		return nil
	}
	var out []string
	reportf := func(field string, have, want any) {
		out = append(out, fmt.Sprintf("status.%s is %v, want %v", field, have, want))
	}
	if want.Reason != have.Reason || want.Status != have.Status || want.RetryAfterSeconds != have.RetryAfterSeconds {
		reportf("reason, status, retryAfterSeconds", []any{have.Reason, have.Status, have.RetryAfterSeconds}, []any{want.Reason, want.Status, want.RetryAfterSeconds})
	}
	for _, key := range []string{"name", "group", "kind", "uid"} {
		if !r.matches(want.Details[key], have.Details[key]) {
			reportf("details."+key, have.Details[key], want.Details[key])
		}
	}
	if !r.matchesMessage(want.Message, have.Message) {
		reportf("message", "\n      "+have.Message, "\n      "+want.Message)
	}
	return append(out, r.causeDifferences(want.Causes, have.Causes)...)
}

func (r *vectorReplay) causeDifferences(want, have []apiCause) []string {
	if len(want) != len(have) {
		return []string{fmt.Sprintf("causes are\n      %s, want\n      %s", compactJSON(have), compactJSON(want))}
	}
	var out []string
	for i := range want {
		w, h := want[i], have[i]
		if w.Reason != h.Reason || !r.matches(w.Field, h.Field) || !r.matchesMessage(w.Message, h.Message) {
			out = append(out, fmt.Sprintf("cause %d is\n      %s, want\n      %s", i, compactJSON(h), compactJSON(w)))
		}
	}
	return out
}

// differences walks two JSON values and returns the paths that differ.
func (r *vectorReplay) differences(path string, want, have any) []string {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			break
		}
		keys := map[string]bool{}
		for k := range w {
			keys[r.expand(k)] = true
		}
		for k := range h {
			keys[k] = true
		}
		filled := map[string]any{}
		for k, v := range w {
			filled[r.expand(k)] = v
		}
		var out []string
		for _, k := range sortedKeys(keys) {
			wv, inWant := filled[k]
			hv, inHave := h[k]
			switch {
			case !inWant:
				out = append(out, fmt.Sprintf("%s.%s is %s, want it absent", path, k, compactJSON(hv)))
			case !inHave:
				out = append(out, fmt.Sprintf("%s.%s is absent, want %s", path, k, compactJSON(wv)))
			default:
				out = append(out, r.differences(path+"."+k, wv, hv)...)
			}
		}
		return out
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			break
		}
		var out []string
		for i := range w {
			out = append(out, r.differences(fmt.Sprintf("%s[%d]", path, i), w[i], h[i])...)
		}
		return out
	case string:
		if h, ok := have.(string); ok && (r.matches(w, h) || bothFixedAges(w, h)) {
			return nil
		}
		if n, ok := have.(float64); ok && w == "$nodePort" && n >= 30000 && n <= 32767 {
			return nil
		}
	default:
		if reflect.DeepEqual(want, have) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %s, want %s", path, compactJSON(have), compactJSON(want))}
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func compactJSON(v any) string {
	raw, _ := json.Marshal(v)
	if len(raw) > 600 {
		raw = append(raw[:600], "..."...)
	}
	return string(raw)
}

// placeholders maps the placeholders of a recording to what they match: values that the
// server has made.
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

// bothFixedAges ignores ages of fixed dates, because they were recorded on another day.
func bothFixedAges(want, have string) bool {
	return oldAge.MatchString(want) && oldAge.MatchString(have)
}

// matches compares a text that may contain placeholders.
func (r *vectorReplay) matches(want, have string) bool {
	if want == have {
		return true
	}
	var pattern strings.Builder
	pattern.WriteString("^")
	rest := want
	for {
		at := placeholder.FindStringIndex(rest)
		if at == nil {
			break
		}
		pattern.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		switch name := rest[at[0]:at[1]]; name {
		case "$ns":
			pattern.WriteString(regexp.QuoteMeta(r.ns))
		case "$u":
			pattern.WriteString(regexp.QuoteMeta(r.suffix))
		default:
			pattern.WriteString(placeholders[name])
		}
		rest = rest[at[1]:]
		if strings.HasSuffix(pattern.String(), placeholders["$diff"]) {
			rest = "" // the rest is not compared
		}
	}
	pattern.WriteString(regexp.QuoteMeta(rest) + "$")
	matched, err := regexp.MatchString(pattern.String(), have)
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

// matchesMessage compares two messages as far as two implementations can agree.
func (r *vectorReplay) matchesMessage(want, have string) bool {
	if at := internalValue.FindStringIndex(want); at != nil {
		return r.matchesPrefix(want[:at[0]+len("Invalid value")], have)
	}
	want = internalType.ReplaceAllString(want, "(v1.$2)")
	for _, pattern := range []*regexp.Regexp{schemeLine, decoderText} {
		want, have = pattern.ReplaceAllString(want, "*"), pattern.ReplaceAllString(have, "*")
	}
	return r.matches(want, have)
}

// matchesPrefix reports whether have starts with want.
func (r *vectorReplay) matchesPrefix(want, have string) bool {
	for i := len(have); i >= 0; i-- {
		if r.matches(want, have[:i]) {
			return true
		}
	}
	return false
}
