package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// options are the key=value words and flags of a line. Each must be accepted and occur at most once.
type options struct {
	*tokens
	values   map[string]string
	accepted []string
}

// options reads all remaining words.
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

// invalid fails because a value is not what want describes.
func (o *options) invalid(key, want string) {
	o.failf("%s=%s: must be %s", key, o.values[key], want)
}

func (o *options) quantity(key, fallback string) resource.Quantity {
	s, ok := o.values[key]
	if !ok {
		s = fallback
	}
	q, err := resource.ParseQuantity(s)
	if err != nil || q.Sign() < 0 {
		o.invalid(key, "a quantity such as 500m, 4 or 8Gi")
	}
	return q
}

func (o *options) number(key string, fallback, least, greatest int64) int64 {
	if !o.has(key) {
		return fallback
	}
	n, err := strconv.ParseInt(o.values[key], 10, 64)
	if err != nil || n < least || n > greatest {
		o.invalid(key, fmt.Sprintf("a whole number from %d to %d", least, greatest))
	}
	return n
}

func (o *options) share(key string, fallback float64) float64 {
	if !o.has(key) {
		return fallback
	}
	f, err := strconv.ParseFloat(o.values[key], 64)
	if err != nil || !(f >= 0 && f <= 1) {
		o.invalid(key, "a share from 0 to 1")
	}
	return f
}

func (o *options) duration(key string, fallback time.Duration) time.Duration {
	if !o.has(key) {
		return fallback
	}
	d, err := time.ParseDuration(o.values[key])
	if err != nil || d < 0 {
		o.invalid(key, "a duration such as 30s")
	}
	return d
}

// grace returns the option grace in seconds, or nil without one.
func (o *options) grace() *int64 {
	if !o.has("grace") {
		return nil
	}
	return new(int64(o.duration("grace", 0) / time.Second))
}

func (o *options) list(key string) []string {
	if s := o.values[key]; s != "" {
		return strings.Split(s, ",")
	}
	return nil
}

// labels reads a=b,c=d; a missing value is empty.
func (o *options) labels(key string) map[string]string {
	if !o.has(key) {
		return nil
	}
	m, err := parseLabels(o.values[key])
	if err != nil {
		o.invalid(key, err.Error())
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

// checkName fails if a name is invalid.
func (w *tokens) checkName(name string) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		w.failf("invalid name %q: %s", name, problems[0])
	}
}
