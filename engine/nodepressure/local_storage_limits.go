package nodepressure

import (
	"fmt"
	"time"
)

// evictOverLimits evicts all pods over a limit of their local storage. Limits are the size of an
// emptyDir, also in memory, the capacity of a claim, the pod's limit, and a container's.
func (m *Machine) evictOverLimits(now time.Time, pods []Pod) (effects []Effect) {
	for i := range pods {
		p := &pods[i]
		if p.Stats == nil || p.EvictionSpec == nil || !p.TerminatesBy.IsZero() && nearlyTerminated(now, p) || Critical(p.Pod, p.EvictionSpec) {
			continue
		}
		if cause, message := m.overLimit(p); cause != "" {
			effects = append(effects, Evict{Pod: p.Pod, Message: message, Grace: hardGrace, Cause: cause})
		}
	}
	return effects
}

// overLimit returns the first limit that the pod exceeds, or "".
func (m *Machine) overLimit(p *Pod) (cause, message string) {
	for i := range p.EvictionSpec.Volumes {
		v := &p.EvictionSpec.Volumes[i]
		if v.SizeLimit != nil && p.Stats.volume(v.Name).Bytes > v.SizeLimit.Amount {
			return CauseEmptyDir, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, v.SizeLimit)
		}
	}
	for i := range p.Stats.Volumes {
		if v := &p.Stats.Volumes[i]; v.Limit > 0 && v.Bytes > v.Limit {
			return CauseClaim, fmt.Sprintf("Usage %s of PersistentVolumeClaim %q exceeds its capacity %s. ", Bytes(v.Bytes), v.Claim, Bytes(v.Limit))
		}
	}
	if l := p.EvictionSpec.EphemeralLimit; l != nil && p.Stats.Ephemeral > l.Amount {
		return CausePodStorage, fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", l)
	}
	for i := range p.Stats.Containers {
		c := &p.Stats.Containers[i]
		spec, ok := p.EvictionSpec.container(c.Name)
		if !ok || spec.Init || spec.EphemeralLimit == nil || spec.EphemeralLimit.Amount == 0 {
			continue
		}
		used := c.Logs.Bytes
		if m.config.Options.CountRootFs || !m.config.Layout.DedicatedImageFs {
			used += c.RootFs.Bytes
		}
		if used > spec.EphemeralLimit.Amount {
			return CauseContainerStorage, fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Name, spec.EphemeralLimit)
		}
	}
	return "", ""
}
