package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// decode decodes JSON into a pointer to a struct. It reports unknown fields and values of
// the wrong type and skips them, so that all other values can be validated at the same time.
func (d *diagnostics) decode(path string, js []byte, into any) {
	var tree any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(js, &tree); err != nil {
		d.errorf("%s%w", prefix(path, ": "), err)
		return
	}
	tree, ok := d.prune(path, tree, reflect.TypeOf(into).Elem())
	if !ok {
		return
	}
	pruned, err := json.Marshal(tree)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(pruned, into)
	}
	if err != nil {
		d.errorf("%s%w", prefix(path, ": "), err)
	}
}

// typeMeta reads apiVersion and kind.
func (d *diagnostics) typeMeta(path string, js []byte) (meta metav1.TypeMeta) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(js, &meta); err != nil {
		d.errorf("%s: %w", path, err)
	}
	return meta
}

func prefix(path, separator string) string {
	if path == "" {
		return ""
	}
	return path + separator
}

// prune removes and reports what cannot be decoded into t. It returns false if the value
// itself has the wrong type.
func (d *diagnostics) prune(path string, v any, t reflect.Type) (any, bool) {
	if v == nil {
		return nil, true
	}
	if t.Kind() == reflect.Pointer {
		return d.prune(path, v, t.Elem())
	}
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return d.checkScalar(path, v, isDuration(v), "a duration such as 15s or 2m")
	case reflect.TypeFor[runtime.RawExtension]():
		_, ok := v.(map[string]any)
		return d.checkScalar(path, v, ok, "an object")
	case reflect.TypeFor[[]byte]():
		s, ok := v.(string)
		_, err := base64.StdEncoding.DecodeString(s)
		return d.checkScalar(path, v, ok && err == nil, "base64")
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return d.pruneUnmarshaler(path, v, t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return d.pruneObject(path, v, t)
	case reflect.Slice:
		return d.pruneList(path, v, t)
	case reflect.Map:
		return d.pruneMap(path, v, t)
	case reflect.String:
		_, ok := v.(string)
		return d.checkScalar(path, v, ok, "a string")
	case reflect.Bool:
		_, ok := v.(bool)
		return d.checkScalar(path, v, ok, "true or false")
	case reflect.Float32, reflect.Float64:
		return d.checkScalar(path, v, isNumber(v), "a number")
	}
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		return d.pruneUnsigned(path, v, t)
	}
	maximum := int64(math.MaxInt64)
	if t.Kind() == reflect.Int32 {
		maximum = math.MaxInt32
	}
	n, ok := v.(int64)
	return d.checkScalar(path, v, ok && n >= -maximum-1 && n <= maximum, fmt.Sprintf("a whole number of at most %d", maximum))
}

// pruneUnsigned handles unsigned integers. A value above the range of int64 is skipped
// without an error, because UnmarshalStrict decodes it.
func (d *diagnostics) pruneUnsigned(path string, v any, t reflect.Type) (any, bool) {
	switch n := v.(type) {
	case int64:
		if n < 0 {
			return d.checkScalar(path, v, false, "0 or more")
		}
		maximum := uint64(math.MaxUint64) >> (64 - t.Bits())
		return d.checkScalar(path, v, uint64(n) <= maximum, fmt.Sprintf("a whole number of at most %d", maximum))
	case float64:
		if t.Bits() == 64 && n >= 1<<63 && n < 1<<64 {
			return nil, false
		}
	}
	return d.checkScalar(path, v, false, fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits())))
}

// pruneUnmarshaler handles types that implement json.Unmarshaler.
func (d *diagnostics) pruneUnmarshaler(path string, v any, t reflect.Type) (any, bool) {
	js, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(js, reflect.New(t).Interface())
	}
	return d.checkScalar(path, v, err == nil, fmt.Sprintf("a %s (%v)", t.Name(), err))
}

// checkScalar returns v and reports an error if ok is false.
func (d *diagnostics) checkScalar(path string, v any, ok bool, requirement string) (any, bool) {
	if !ok {
		text, _ := json.Marshal(v)
		d.errorf("%s: %s: must be %s", path, truncate(string(text)), requirement)
		d.skipped = append(d.skipped, path)
	}
	return v, ok
}

func truncate(s string) string {
	const limit = 80
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}

func isDuration(v any) bool {
	s, ok := v.(string)
	_, err := time.ParseDuration(s)
	return ok && err == nil
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func (d *diagnostics) pruneObject(path string, v any, t reflect.Type) (any, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return d.checkScalar(pathOrDocument(path), v, false, "an object")
	}
	fields := fieldsOf(t)
	for _, name := range sortedKeys(object) {
		fieldPath := prefix(path, ".") + name
		field, found := fields[name]
		if !found {
			d.errorf("%s: unknown field; %s", fieldPath, suggest(name, sortedKeys(fields)))
			delete(object, name)
			continue
		}
		if object[name], ok = d.prune(fieldPath, object[name], field); !ok {
			delete(object, name)
		}
	}
	return object, true
}

func pathOrDocument(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// pruneList replaces invalid elements with nil, so that the paths of the others stay
// correct.
func (d *diagnostics) pruneList(path string, v any, t reflect.Type) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return d.checkScalar(path, v, false, "a list")
	}
	for i := range list {
		if list[i], ok = d.prune(fmt.Sprintf("%s[%d]", path, i), list[i], t.Elem()); !ok {
			list[i] = nil
		}
	}
	return list, true
}

func (d *diagnostics) pruneMap(path string, v any, t reflect.Type) (any, bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return d.checkScalar(path, v, false, "an object")
	}
	for _, name := range sortedKeys(object) {
		if object[name], ok = d.prune(path+"."+name, object[name], t.Elem()); !ok {
			delete(object, name)
		}
	}
	return object, true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fieldsOf maps JSON names of a struct's fields, including embedded ones, to their types.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			maps.Copy(out, fieldsOf(field.Type))
		case name != "-" && name != "":
			out[name] = field.Type
		}
	}
	return out
}

// suggest returns the names most similar to an unknown one, or all names if none is
// similar.
func suggest(name string, names []string) string {
	best, similar := len(name)/2+1, []string(nil)
	for _, n := range names {
		a, b := strings.ToLower(name), strings.ToLower(n)
		d := editDistance(a, b)
		if strings.Contains(b, a) || strings.Contains(a, b) {
			d = min(d, 1)
		}
		switch {
		case d < best:
			best, similar = d, []string{n}
		case d == best && similar != nil:
			similar = append(similar, n)
		}
	}
	if similar != nil {
		return "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return "must be one of " + strings.Join(names, ", ")
}

// editDistance returns the Levenshtein distance of a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
