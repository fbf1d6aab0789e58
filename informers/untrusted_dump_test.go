package informers

import (
	"strings"
	"testing"
)

func TestDecodeUntrustedDump(t *testing.T) {
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"QUANTITY"}}}]}}`
	list := `{"apiVersion":"v1","kind":"List","items":[ITEMS]}`
	for _, c := range []struct{ name, text, want string }{
		{"a pod", strings.ReplaceAll(pod, "QUANTITY", "1e3"), ""},
		{"a list", strings.ReplaceAll(list, "ITEMS", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`), ""},
		{"text with the signs of aliases", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {command: \"a && b *\"}}", ""},
		{"an alias", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: &a a\n  annotations: {a: *a}", "dump: document 1: YAML aliases"},
		{"an alias that merges", "apiVersion: v1\nkind: Pod\nmetadata: &a {name: a}\nspec: {<<: *a}", "YAML aliases"},
		{"a nested list", strings.ReplaceAll(list, "ITEMS", strings.ReplaceAll(list, "ITEMS", "")), "items[0]: a List in a List"},
		{"a UID and a name that begin like a number", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "1e300-a", "uid": "1e128003-95c1-4e00-8000-000000000000", "labels": {"a": "12e4567f"}}}`, ""},
		{"a large exponent with a space", strings.ReplaceAll(pod, "QUANTITY", "1e1000 "), "quantity 1e1000: exponents"},
		{"a large exponent", strings.ReplaceAll(pod, "QUANTITY", "1e-100"), "quantity 1e-100: exponents"},
		{"a large exponent in YAML", "apiVersion: v1\nkind: Pod\nspec: {overhead: {cpu: '  12345678901234567890E+3000'}}", "exponents"},
		{"a large exponent without quotes", strings.ReplaceAll(pod, `"QUANTITY"`, " 1e300"), "exponents"},
		{"many values", `{"apiVersion":"v1","kind":"PodList","items":[{}` + strings.Repeat(",{}", maxValues+1) + "]}", "more than 300000 values"},
		{"many values in two documents", strings.Repeat("---\napiVersion: v1\nkind: PodList\nitems: [{}"+strings.Repeat(",{}", maxValues/2+1)+"]\n", 2), "document 2: more than 300000 values"},
	} {
		_, err := DecodeUntrustedDump("dump", []byte(c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
}
