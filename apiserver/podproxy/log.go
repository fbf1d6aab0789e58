package podproxy

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/nodeclient"
)

// LogREST serves pods/log.
type LogREST struct {
	Pods  PodGetter
	Nodes *nodeclient.ConnectionGetter
}

var (
	_ rest.GetterWithOptions = &LogREST{}
	_ rest.StorageMetadata   = &LogREST{}
)

// OverrideMetricsVerb counts logs as CONNECT: their duration depends on the client.
func (l *LogREST) OverrideMetricsVerb(verb string) string {
	if verb == "GET" {
		return "CONNECT"
	}
	return verb
}

// New implements rest.Storage.
func (l *LogREST) New() runtime.Object { return &corev1.Pod{} }

// Destroy does nothing: the pods own the store.
func (l *LogREST) Destroy() {}

// ProducesMIMETypes implements rest.StorageMetadata.
func (l *LogREST) ProducesMIMETypes(string) []string { return []string{"text/plain"} }

// ProducesObject implements rest.StorageMetadata.
func (l *LogREST) ProducesObject(string) any { return "" }

// NewGetOptions implements rest.GetterWithOptions.
func (l *LogREST) NewGetOptions() (runtime.Object, bool, string) {
	return &corev1.PodLogOptions{}, false, ""
}

// Get returns the log stream of a container. The log of an unbound pod is empty.
func (l *LogREST) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	o, ok := options.(*corev1.PodLogOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("want PodLogOptions, got %T", options))
	}
	if errs := validateLogOptions(o); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), name, errs)
	}
	pod, err := l.Pods.get(ctx, name)
	if err != nil {
		return nil, err
	}
	containerName, err := resolveContainer(pod, o.Container)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return &genericrest.LocationStreamer{ContentType: "text/plain"}, nil
	}
	agent, err := l.Nodes.Get(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	return &logStreamer{&genericrest.LocationStreamer{
		Location:        agent.URLFor(fmt.Sprintf("/containerLogs/%s/%s/%s", pod.Namespace, pod.Name, containerName), logQuery(o)),
		Transport:       agent.Transport,
		ContentType:     "text/plain",
		Flush:           o.Follow,
		ResponseChecker: genericrest.NewGenericHttpResponseChecker(corev1.Resource("pods/log"), name),
		RedirectChecker: genericrest.PreventRedirects,
	}}, nil
}

// logQuery returns the query of the request to the node agent.
func logQuery(o *corev1.PodLogOptions) url.Values {
	q := url.Values{}
	for name, set := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if set {
			q.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes} {
		if n != nil {
			q.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		q.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	if o.Stream != nil {
		q.Set("stream", *o.Stream)
	}
	return q
}

func validateLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	atLeast := func(name string, n *int64, minimum int64, message string) {
		if n != nil && *n < minimum {
			errs = append(errs, field.Invalid(field.NewPath(name), *n, message))
		}
	}
	atLeast("tailLines", o.TailLines, 0, "must be greater than or equal to 0")
	atLeast("limitBytes", o.LimitBytes, 1, "must be greater than 0")
	atLeast("sinceSeconds", o.SinceSeconds, 1, "must be greater than 0")
	if o.SinceSeconds != nil && o.SinceTime != nil {
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	}
	if o.Stream != nil {
		switch *o.Stream {
		case corev1.LogStreamAll, corev1.LogStreamStdout, corev1.LogStreamStderr:
		default:
			errs = append(errs, field.NotSupported(field.NewPath("stream"), *o.Stream, []string{corev1.LogStreamAll, corev1.LogStreamStderr, corev1.LogStreamStdout}))
		}
	}
	return errs
}
