package scheme

import (
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// parameterTypes are the query parameters of connect requests.
var parameterTypes = []runtime.Object{
	&corev1.PodLogOptions{}, &corev1.PodExecOptions{}, &corev1.PodAttachOptions{}, &corev1.PodPortForwardOptions{},
	&corev1.PodProxyOptions{}, &corev1.NodeProxyOptions{}, &corev1.ServiceProxyOptions{},
}

// addParameters registers conversions from queries to parameterTypes.
func addParameters(s *runtime.Scheme) error {
	for _, add := range []func() error{
		parameterConversion(s, func(q *query, o *corev1.PodLogOptions) {
			o.Container, o.Follow, o.Previous, o.Timestamps = q.Get("container"), q.boolean("follow"), q.boolean("previous"), q.boolean("timestamps")
			o.SinceSeconds, o.TailLines, o.LimitBytes = q.number("sinceSeconds"), q.number("tailLines"), q.number("limitBytes")
			o.SinceTime, o.InsecureSkipTLSVerifyBackend = q.time("sinceTime"), q.boolean("insecureSkipTLSVerifyBackend")
			if q.Has("stream") {
				stream := q.Get("stream")
				o.Stream = &stream
			}
		}),
		parameterConversion(s, func(q *query, o *corev1.PodExecOptions) {
			o.Container, o.Command = q.Get("container"), q.Values["command"]
			o.Stdin, o.Stdout, o.Stderr, o.TTY = q.boolean("stdin"), q.boolean("stdout"), q.boolean("stderr"), q.boolean("tty")
		}),
		parameterConversion(s, func(q *query, o *corev1.PodAttachOptions) {
			o.Container = q.Get("container")
			o.Stdin, o.Stdout, o.Stderr, o.TTY = q.boolean("stdin"), q.boolean("stdout"), q.boolean("stderr"), q.boolean("tty")
		}),
		parameterConversion(s, func(q *query, o *corev1.PodPortForwardOptions) { o.Ports = q.ports("ports") }),
		parameterConversion(s, func(q *query, o *corev1.PodProxyOptions) { o.Path = q.Get("path") }),
		parameterConversion(s, func(q *query, o *corev1.NodeProxyOptions) { o.Path = q.Get("path") }),
		parameterConversion(s, func(q *query, o *corev1.ServiceProxyOptions) { o.Path = q.Get("path") }),
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// parameterConversion returns a function that registers the conversion of a query to T.
func parameterConversion[T any](s *runtime.Scheme, read func(*query, *T)) func() error {
	return func() error {
		return s.AddConversionFunc((*url.Values)(nil), (*T)(nil), func(a, b any, _ conversion.Scope) error {
			q := &query{Values: *a.(*url.Values)}
			read(q, b.(*T))
			return q.err
		})
	}
}

// query reads typed query parameters. err is the first error.
type query struct {
	url.Values
	err error
}

func (q *query) fail(name, want string) {
	if q.err == nil {
		q.err = fmt.Errorf("parameter %s=%q: must be %s", name, q.Get(name), want)
	}
}

// boolean parses as Kubernetes does: a parameter without a value is true, and so is any value that
// does not mean false.
func (q *query) boolean(name string) bool {
	if !q.Has(name) {
		return false
	}
	switch q.Get(name) {
	case "false", "False", "FALSE", "f", "F", "0":
		return false
	}
	return true
}

func (q *query) number(name string) *int64 {
	if q.Get(name) == "" {
		return nil
	}
	v, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil {
		q.fail(name, "a whole number")
		return nil
	}
	return &v
}

func (q *query) time(name string) *metav1.Time {
	if q.Get(name) == "" {
		return nil
	}
	var t metav1.Time
	if err := t.UnmarshalQueryParameter(q.Get(name)); err != nil {
		q.fail(name, "a time such as 2026-01-02T15:04:05Z")
		return nil
	}
	return &t
}

func (q *query) ports(name string) []int32 {
	var ports []int32
	for _, text := range q.Values[name] {
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			q.fail(name, "port numbers")
			return nil
		}
		ports = append(ports, int32(v))
	}
	return ports
}
