package pods

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/downwardapi"
)

// environment builds the environment variables of a container. Later sources override earlier
// ones: services, then envFrom, then env.
type environment struct {
	runner    *Runner
	pod       *corev1.Pod // status has the pod's addresses
	container *corev1.Container
	services  map[string]string
	values    map[string]string
	// sources caches the data of ConfigMaps and Secrets by kind and name.
	sources map[string]map[string]string
}

// makeEnvironment resolves the environment of a container. pod.Status must contain the pod's addresses.
func (r *Runner) makeEnvironment(ctx context.Context, pod *corev1.Pod, c *corev1.Container) (*environment, error) {
	e := &environment{runner: r, pod: pod, container: c, values: map[string]string{}, sources: map[string]map[string]string{}}
	var err error
	if e.services, err = r.services.envVars(pod); err != nil {
		return nil, err
	}
	for i := range c.EnvFrom {
		if err := e.addEnvFrom(ctx, &c.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		value, set, err := e.resolve(ctx, v)
		if err != nil {
			return nil, err
		}
		if set {
			e.values[v.Name] = value
		}
	}
	return e, nil
}

// keyValues returns the environment sorted by name.
func (e *environment) keyValues() (out []*cri.KeyValue) {
	values := maps.Clone(e.services)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, e.values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, &cri.KeyValue{Key: name, Value: []byte(values[name])})
	}
	return out
}

func (e *environment) lookup(name string) (string, bool) {
	if v, ok := e.values[name]; ok {
		return v, true
	}
	v, ok := e.services[name]
	return v, ok
}

// addEnvFrom adds all keys of a ConfigMap or Secret.
func (e *environment) addEnvFrom(ctx context.Context, f *corev1.EnvFromSource) error {
	var data map[string]string
	var err error
	switch {
	case f.ConfigMapRef != nil:
		data, err = e.readSource(ctx, "configmap", f.ConfigMapRef.Name, f.ConfigMapRef.Optional)
	case f.SecretRef != nil:
		data, err = e.readSource(ctx, "secret", f.SecretRef.Name, f.SecretRef.Optional)
	}
	for k, v := range data {
		if name := f.Prefix + k; name != "" && !strings.Contains(name, "=") {
			e.values[name] = v
		}
	}
	return err
}

// resolve returns the value of a variable. set is false if an optional source does not exist.
func (e *environment) resolve(ctx context.Context, v *corev1.EnvVar) (value string, set bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return expand(v.Value, e.lookup), true, nil
	case from.FieldRef != nil:
		value, err = downwardapi.Field(e.pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = downwardapi.Resource(e.pod, e.container.Name, from.ResourceFieldRef, e.runner.opts.Node().Status.Allocatable)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return e.resolveKey(ctx, "configmap", "ConfigMap", ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return e.resolveKey(ctx, "secret", "Secret", ref.Name, ref.Key, ref.Optional)
	}
	return "", false, fmt.Errorf("env %s: valueFrom: unsupported source; use fieldRef, resourceFieldRef, configMapKeyRef or secretKeyRef", v.Name)
}

// resolveKey returns the value of a key of a ConfigMap or Secret. title is the kind in messages.
func (e *environment) resolveKey(ctx context.Context, kind, title, name, key string, optional *bool) (string, bool, error) {
	data, err := e.readSource(ctx, kind, name, optional)
	if err != nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s/%s", key, title, e.pod.Namespace, name)
	}
	return value, ok, nil
}

// readSource returns the data of a ConfigMap or Secret. An optional object that does not exist
// has no data.
func (e *environment) readSource(ctx context.Context, kind, name string, optional *bool) (map[string]string, error) {
	if data, ok := e.sources[kind+"/"+name]; ok {
		return data, nil
	}
	client := e.runner.opts.Client
	if client == nil {
		return nil, fmt.Errorf("%s %q: no API server to read it from", kind, name)
	}
	data := map[string]string{}
	var err error
	if kind == "configmap" {
		var m *corev1.ConfigMap
		if m, err = client.CoreV1().ConfigMaps(e.pod.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			data = m.Data
		}
	} else {
		var s *corev1.Secret
		if s, err = client.CoreV1().Secrets(e.pod.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			for k, v := range s.Data {
				data[k] = string(v)
			}
		}
	}
	switch {
	case apierrors.IsNotFound(err) && optional != nil && *optional:
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s %q not found", kind, name)
	case err != nil:
		return nil, fmt.Errorf("%s %q: %w", kind, name, err)
	}
	e.sources[kind+"/"+name] = data
	return data, nil
}

// expandPath expands variables in a volume's subPathExpr. An unset variable is an error, because
// it would create an unintended directory.
func (e *environment) expandPath(s string) (string, error) {
	var missing error
	out := expand(s, func(name string) (string, bool) {
		v, ok := e.lookup(name)
		if !ok && missing == nil {
			missing = fmt.Errorf("missing value for %q", name)
		}
		return v, ok
	})
	return out, missing
}

// expand replaces $(NAME) with the result of lookup. Unknown names stay unchanged, and $$ stands
// for a literal $.
func expand(s string, lookup func(string) (string, bool)) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch end := strings.IndexByte(s[i:], ')'); {
		case s[i+1] == '$':
			b.WriteByte('$')
			i++
		case s[i+1] == '(' && end > 0:
			reference := s[i : i+end+1]
			if v, ok := lookup(reference[2 : len(reference)-1]); ok {
				reference = v
			}
			b.WriteString(reference)
			i += end
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

func expandAll(values []string, lookup func(string) (string, bool)) (out []string) {
	for _, s := range values {
		out = append(out, expand(s, lookup))
	}
	return out
}
