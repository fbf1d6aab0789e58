package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// options are the key=value words and flags of a line. Each must be accepted and occur at most once.
type options struct {
	*tokens
	values   map[string]string
	accepted []string
}

// options reads all remaining words. An accepted word with a value ends with "=".
func (w *tokens) options(accepted ...string) *options {
	o := &options{tokens: w, values: map[string]string{}, accepted: accepted}
	for len(w.list) > 0 {
		word, _ := w.next()
		key, value, hasValue := strings.Cut(word, "=")
		if flag := slices.Contains(accepted, key) && !hasValue; !flag && !(hasValue && slices.Contains(accepted, key+"=")) {
			w.failf("unknown word %q: must be one of %s", word, strings.Join(accepted, " "))
		}
		if o.has(key) {
			w.failf("%s is given twice", key)
		}
		o.values[key] = value
	}
	return o
}

func (o *options) has(key string) bool { _, ok := o.values[key]; return ok }

func (o *options) value(key string) value { return value{o.tokens, key, o.values[key]} }

// grace returns the option grace in seconds, or nil without one.
func (o *options) grace() *int64 {
	if !o.has("grace") {
		return nil
	}
	return o.value("grace").seconds()
}

// words are the words of a line that set fields of a T.
type words[T any] []word[T]

type word[T any] struct {
	name string // with a value it ends with "="
	set  func(T, value)
}

// read reads all remaining words of a line. set sets the fields, in the order of the table.
func (table words[T]) read(w *tokens) (set func(T)) {
	var accepted []string
	for _, x := range table {
		accepted = append(accepted, x.name)
	}
	o := w.options(accepted...)
	return func(t T) {
		for _, x := range table {
			if key := strings.TrimSuffix(x.name, "="); o.has(key) {
				x.set(t, o.value(key))
			}
		}
	}
}

// value is the value of a word. Its methods return zero values if it is invalid.
type value struct {
	*tokens
	key, text string
}

// invalid fails because the value is not what want describes.
func (v value) invalid(want string) { v.failf("%s=%s: must be %s", v.key, v.text, want) }

func (v value) quantity() resource.Quantity {
	q, err := resource.ParseQuantity(v.text)
	if err != nil || q.Sign() < 0 {
		v.invalid("a quantity such as 500m, 4 or 8Gi")
	}
	return q
}

func (v value) number(least, greatest int64) int64 {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || n < least || n > greatest {
		v.invalid(fmt.Sprintf("a whole number from %d to %d", least, greatest))
	}
	return n
}

func (v value) share() float64 {
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		v.invalid("a share from 0 to 1")
	}
	return f
}

func (v value) duration() time.Duration {
	d, err := time.ParseDuration(v.text)
	if err != nil || d < 0 {
		v.invalid("a duration such as 30s")
	}
	return d
}

// seconds reads a duration in whole seconds.
func (v value) seconds() *int64 { return new(int64(v.duration() / time.Second)) }

func (v value) list() []string {
	if v.text == "" {
		return nil
	}
	return strings.Split(v.text, ",")
}

// resources reads resources such as a=1,b=2 into a list.
func (v value) resources(list corev1.ResourceList) {
	for _, pair := range v.list() {
		name, amount, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = value{v.tokens, v.key + " " + name, amount}.quantity()
	}
}

// labels reads a=b,c=d; a missing value is empty.
func (v value) labels() map[string]string {
	m, err := parseLabels(v.text)
	if err != nil {
		v.invalid(err.Error())
	}
	return m
}

func parseLabels(s string) (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range strings.Split(s, ",") {
		k, v, _ := strings.Cut(pair, "=")
		if problems := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)...); len(problems) > 0 {
			return nil, fmt.Errorf("labels such as app=web,tier=front (%q: %s)", pair, problems[0])
		}
		m[k] = v
	}
	return m, nil
}

// annotate stores the value in an annotation. It fails if err is not nil.
func (v value) annotate(o *metav1.ObjectMeta, annotation string, err error) {
	if err != nil {
		v.failf("%s=%s: %w", v.key, v.text, err)
	}
	metav1.SetMetaDataAnnotation(o, annotation, v.text)
}
