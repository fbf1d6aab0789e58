package nodepressure

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// evictionOrigin holds the parts of the message of an eviction for a threshold, without the usage of
// the pod.
type evictionOrigin struct {
	shortage    string // of the node; "": not for a threshold
	signal      Signal
	spec        *EvictionSpec
	nameVolumes bool
}

// evict returns the eviction of a pod for a threshold.
func (m *Machine) evict(o *Observation, t *Threshold, p *Pod) Evict {
	stat := &o.Signals[t.Signal]
	need := t.Value.Of(stat.Capacity)
	available := Quantity{Amount: m.available(t.Signal, o)}
	if t.Signal.decimal() {
		available.Format = Decimal
	}
	text := fmt.Sprintf(EvictionMessagePrefix+"%s. Threshold quantity: %s, available: %s. ", t.Signal.Resource(), need, available)
	if m.forecast.exhausted && t.Signal == MemoryAvailable && available.Amount >= need.Amount {
		text += fmt.Sprintf("It grew by %s in %s. ", Bytes(m.forecast.projectedUse>>20<<20), forecastHorizon)
	}
	e := Evict{Pod: p.Pod, Message: text, Grace: m.gracePeriod(t, p), Cause: t.Signal.String(), Condition: true,
		origin: evictionOrigin{shortage: text, signal: t.Signal, spec: p.EvictionSpec, nameVolumes: m.config.Options.NameVolumes}}
	if p.Stats != nil {
		e.lastUsage = p.Stats.usageOf(t.Signal)
		e.Update(p.Stats)
	}
	return e
}

// Update sets the pod's usage in the message and the annotations of an eviction for a threshold. It
// has no effect on other evictions.
func (e *Evict) Update(stats *PodStats) {
	if e.origin.shortage == "" || stats == nil {
		return
	}
	var b strings.Builder
	b.WriteString(e.origin.shortage)
	p := Pod{Pod: e.Pod, EvictionSpec: e.origin.spec, Stats: stats}
	e.Annotations = describeConsumers(&b, e.origin.signal, &p)
	if e.origin.nameVolumes && e.origin.signal.Resource() == EphemeralStorage {
		describeVolumes(&b, &p)
	}
	e.Message = b.String()
}

// describeVolumes adds to the message the local volume, or the shared files, of a pod that use more
// than its containers.
func describeVolumes(b *strings.Builder, p *Pod) {
	used := p.Stats.Files.Bytes
	text := "Files of the pod outside of its containers, such as /etc/hosts, were"
	local := map[string]bool{}
	if p.EvictionSpec != nil {
		for i := range p.EvictionSpec.Volumes {
			local[p.EvictionSpec.Volumes[i].Name] = p.EvictionSpec.Volumes[i].Local
		}
	}
	for i := range p.Stats.Volumes {
		if v := &p.Stats.Volumes[i]; local[v.Name] && v.Bytes > used {
			used, text = v.Bytes, fmt.Sprintf("Volume %s was", v.Name)
		}
	}
	for i := range p.Stats.Containers {
		if c := &p.Stats.Containers[i]; c.RootFs.Bytes+c.Logs.Bytes >= used {
			return
		}
	}
	fmt.Fprintf(b, "%s using %s. ", text, Bytes(used))
}

// describeConsumers adds the containers that exceed their requests to the message, and returns them as
// annotations.
func describeConsumers(b *strings.Builder, s Signal, p *Pod) (annotations []model.Label) {
	resource := s.Resource()
	add := func(kind, name string, used, request Quantity) {
		fmt.Fprintf(b, "%s %s was using %s, request is %s, has larger consumption of %s. ", kind, name, used, request, resource)
	}
	if t := p.EvictionSpec; t != nil && t.PodMemory != nil && resource == Memory && p.Stats.MemoryKnown { // reported even below its request
		add("Pod", p.Name, Bytes(p.Stats.Memory), *t.PodMemory)
		annotations = append(annotations, model.Label{Key: AnnotationPod, Value: p.Name}, model.Label{Key: AnnotationPodUsage, Value: Bytes(p.Stats.Memory).String()})
	}
	var names, usages []string
	for i := range p.Stats.Containers {
		c := &p.Stats.Containers[i]
		request, ok := p.EvictionSpec.container(c.Name)
		used, reported := c.usageOf(resource)
		if !ok || !reported {
			continue
		}
		requested := request.Memory
		if resource == EphemeralStorage {
			requested = request.Ephemeral
		}
		if used > requested.Amount {
			add("Container", c.Name, Bytes(used), requested)
			names, usages = append(names, c.Name), append(usages, Bytes(used).String())
		}
	}
	return append(annotations, model.Label{Key: AnnotationContainers, Value: strings.Join(names, ",")},
		model.Label{Key: AnnotationContainersUsage, Value: strings.Join(usages, ",")}, model.Label{Key: AnnotationStarvedResource, Value: resource})
}

// usageOf returns the container's usage of a resource that containers request.
func (c *ContainerStats) usageOf(resource string) (n int64, reported bool) {
	switch resource {
	case Memory:
		return c.Memory, c.MemoryKnown
	case EphemeralStorage:
		return c.RootFs.Bytes + c.Logs.Bytes, c.RootFs.Known && c.Logs.Known
	}
	return 0, false
}

func (t *EvictionSpec) container(name string) (Container, bool) {
	if t != nil {
		for i := range t.Containers {
			if t.Containers[i].Name == name {
				return t.Containers[i], true
			}
		}
	}
	return Container{}, false
}
