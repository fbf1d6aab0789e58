package conversion

import (
	corev1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/resource"
)

// requests writes the containers, the relevant part of their status, and the
// pod-level resources.
func (k *key) requests(pod *corev1.Pod) {
	infeasible := pod.Spec.NodeName != "" && helper.IsPodResizeInfeasible(pod)
	k.flag(infeasible)
	for _, list := range [...][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		k.num(int64(len(list)))
		for i := range list {
			k.container(pod, &list[i], infeasible)
		}
	}
	k.resources(pod.Spec.Overhead)
	k.flag(pod.Spec.Resources != nil)
	if r := pod.Spec.Resources; r != nil {
		k.resources(r.Requests)
		k.resources(r.Limits)
	}
	k.status(pod)
}

// status writes the pod-level resources of the status.
func (k *key) status(pod *corev1.Pod) {
	r := pod.Status.Resources
	resized := pod.Spec.NodeName != "" && pod.Spec.Resources != nil && r != nil
	k.flag(resized)
	if resized {
		k.resources(pod.Status.AllocatedResources)
		k.flag(r.Requests != nil)
		k.resources(r.Requests)
	}
}

func (k *key) container(pod *corev1.Pod, c *corev1.Container, infeasible bool) {
	k.str(c.Image)
	k.flag(isSidecar(c))
	k.resources(c.Resources.Requests)
	k.flag(hasCPUOrMemory(c.Resources.Limits))
	n := 0
	for i := range c.Ports {
		if c.Ports[i].HostPort > 0 {
			n++
		}
	}
	k.num(int64(n))
	for i := range c.Ports {
		if p := &c.Ports[i]; p.HostPort > 0 {
			k.num(int64(p.HostPort))
			k.str(p.HostIP)
			k.str(string(p.Protocol))
		}
	}
	cs := resizeStatus(pod, c, infeasible)
	k.flag(cs != nil)
	if cs == nil {
		return
	}
	k.flag(cs.AllocatedResources != nil)
	k.resources(cs.AllocatedResources)
	k.flag(cs.Resources.Requests != nil)
	k.resources(cs.Resources.Requests)
}

func equalResources(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		other, ok := b[name]
		if !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

func containerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [...][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func (k *key) affinity(pod *corev1.Pod) {
	a := pod.Spec.Affinity
	k.flag(a != nil)
	if a == nil {
		return
	}
	k.nodeAffinity(a.NodeAffinity)
	k.flag(a.PodAffinity != nil)
	if pa := a.PodAffinity; pa != nil {
		k.podTerms(pod.Namespace, pa.RequiredDuringSchedulingIgnoredDuringExecution, pa.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	k.flag(a.PodAntiAffinity != nil)
	if pa := a.PodAntiAffinity; pa != nil {
		k.podTerms(pod.Namespace, pa.RequiredDuringSchedulingIgnoredDuringExecution, pa.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (k *key) nodeAffinity(a *corev1.NodeAffinity) {
	k.flag(a != nil)
	if a == nil {
		return
	}
	required := a.RequiredDuringSchedulingIgnoredDuringExecution
	k.flag(required != nil)
	if required != nil {
		k.num(int64(len(required.NodeSelectorTerms)))
		for i := range required.NodeSelectorTerms {
			k.nodeTerm(&required.NodeSelectorTerms[i])
		}
	}
	preferred := a.PreferredDuringSchedulingIgnoredDuringExecution
	k.num(int64(len(preferred)))
	for i := range preferred {
		k.num(int64(preferred[i].Weight))
		k.nodeTerm(&preferred[i].Preference)
	}
}

func (k *key) nodeTerm(t *corev1.NodeSelectorTerm) {
	for _, list := range [...][]corev1.NodeSelectorRequirement{t.MatchExpressions, t.MatchFields} {
		k.num(int64(len(list)))
		for i := range list {
			k.str(list[i].Key)
			k.str(string(list[i].Operator))
			k.strs(list[i].Values)
		}
	}
}

// podTerms writes inter-pod affinity terms. A term without namespaces means the pod's
// namespace, which therefore is part of the key.
func (k *key) podTerms(namespace string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	k.num(int64(len(required)))
	for i := range required {
		k.podTerm(namespace, &required[i])
	}
	k.num(int64(len(preferred)))
	for i := range preferred {
		k.num(int64(preferred[i].Weight))
		k.podTerm(namespace, &preferred[i].PodAffinityTerm)
	}
}

func (k *key) podTerm(namespace string, t *corev1.PodAffinityTerm) {
	k.str(t.TopologyKey)
	k.selector(t.LabelSelector)
	k.selector(t.NamespaceSelector)
	k.strs(t.Namespaces)
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		k.str(namespace)
	}
}

func (k *key) spread(list []corev1.TopologySpreadConstraint) {
	k.num(int64(len(list)))
	for i := range list {
		c := &list[i]
		k.str(c.TopologyKey)
		k.num(int64(c.MaxSkew))
		k.str(string(c.WhenUnsatisfiable))
		k.selector(c.LabelSelector)
		k.strs(c.MatchLabelKeys)
		k.flag(c.MinDomains != nil)
		k.num(int64(deref(c.MinDomains)))
		k.str(string(deref(c.NodeAffinityPolicy)))
		k.str(string(deref(c.NodeTaintsPolicy)))
	}
}

func (k *key) tolerations(list []corev1.Toleration) {
	k.num(int64(len(list)))
	for i := range list {
		t := &list[i]
		k.str(t.Key)
		k.str(string(t.Operator))
		k.str(t.Value)
		k.str(string(t.Effect))
		k.flag(t.TolerationSeconds != nil)
		k.num(deref(t.TolerationSeconds))
	}
}

// volumes writes the volumes that scheduling reads. It skips ConfigMaps, Secrets, projected volumes
// and other types that scheduling does not read.
func (k *key) volumes(pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			k.b = append(k.b, 'c')
			k.str(v.Name)
			k.str(v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			k.b = append(k.b, 'e')
			k.str(v.Name)
			k.str(pod.Name)
		}
		if v.Image != nil {
			k.b = append(k.b, 'i')
			k.str(v.Image.Reference)
		}
		if d, ok := restrictedDisk(&v.VolumeSource); ok {
			k.b = append(k.b, 'd', byte(d.Kind))
			k.str(d.ID)
			k.strs(d.Monitors)
			k.flag(d.ReadOnly)
		}
		if c := translateInlineVolume(&v.VolumeSource); c.Driver != "" {
			k.b = append(k.b, 'm')
			k.str(c.InTree)
			k.str(c.Handle)
		}
	}
	k.b = append(k.b, 0)
}
