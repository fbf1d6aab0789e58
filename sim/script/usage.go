package script

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim/cluster"
)

// usageAnnotation returns the usage annotation, if given.
func (o *options) usageAnnotation(check func(string) (usage.Script, error)) map[string]string {
	if !o.has("usage") {
		return nil
	}
	if _, err := check(o.values["usage"]); err != nil {
		o.failf("usage=%s: %w", o.values["usage"], err)
	}
	return map[string]string{usage.Annotation: o.values["usage"]}
}

// setLocalStorage reads the local storage of a pod: a limit per container, emptyDirs as NAME or
// NAME:SIZE, and the number of containers.
func (o *options) setLocalStorage(s *corev1.PodSpec) {
	if o.has("storagelimit") {
		s.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: o.quantity("storagelimit", "")}
	}
	for _, e := range o.list("emptydir") {
		name, size, hasSize := strings.Cut(e, ":")
		v := corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
		if hasSize {
			q, err := resource.ParseQuantity(size)
			if err != nil {
				o.invalid("emptydir", "names such as data, or with a size such as data:1Gi")
			}
			v.EmptyDir.SizeLimit = &q
		}
		s.Volumes = append(s.Volumes, v)
	}
	for i := range o.number("containers", 1, 1, 10) - 1 {
		c := *s.Containers[0].DeepCopy()
		c.Name += strconv.FormatInt(i+2, 10)
		s.Containers = append(s.Containers, c)
	}
}

// pressureOptions are the options of node pressure.
var pressureOptions = []string{"hard=", "soft=", "softgrace=", "minreclaim=", "transition=", "maxgrace=", "compatible", "reserve="}

// setPressure reads the node pressure options, with thresholds as in the kubelet's flags:
// hard=memory.available<500Mi, softgrace=memory.available=30s. compatible disables all of
// Berth's additions.
func (o *options) setPressure(s *cluster.Options) {
	c := &s.Pressure
	if o.has("hard") || o.has("soft") || o.has("minreclaim") {
		e := config.Eviction{Hard: o.pairs("hard", "<"), Soft: o.pairs("soft", "<"), SoftGracePeriod: o.pairs("softgrace", "="), MinimumReclaim: o.pairs("minreclaim", "=")}
		c.Thresholds = o.thresholds(&e)
	}
	c.TransitionPeriod = o.duration("transition", c.TransitionPeriod)
	c.MaxPodGrace = o.number("maxgrace", c.MaxPodGrace, -1, 86400)
	if o.has("compatible") {
		c.Options = nodepressure.Options{}
	}
	if o.has("reserve") {
		q := o.quantity("reserve", "")
		s.Reserve.Bytes = [nodepressure.NumFilesystems]int64{q.Value(), q.Value()}
	}
}

// thresholds returns the thresholds of all options. An error is that of the first option whose
// addition causes it; soft is last, as it requires softgrace.
func (o *options) thresholds(all *config.Eviction) (out []nodepressure.Threshold) {
	var e config.Eviction
	for _, option := range []struct {
		key   string
		field *map[string]string
		value map[string]string
	}{
		{"hard", &e.Hard, all.Hard},
		{"softgrace", &e.SoftGracePeriod, all.SoftGracePeriod},
		{"minreclaim", &e.MinimumReclaim, all.MinimumReclaim},
		{"soft", &e.Soft, all.Soft},
	} {
		*option.field = option.value
		var err error
		if out, err = e.Thresholds([]string{"pods"}); err != nil {
			o.failf("%s=%s: %w", option.key, o.values[option.key], err)
			return nil
		}
	}
	return out
}

// pairs reads pairs such as a<b,c<d, here with the separator "<".
func (o *options) pairs(key, separator string) map[string]string {
	out := map[string]string{}
	for _, p := range o.list(key) {
		k, v, ok := strings.Cut(p, separator)
		if !ok {
			o.invalid(key, fmt.Sprintf("SIGNAL%sVALUE, with commas between", separator))
		}
		out[k] = v
	}
	return out
}
