package nodeauth

import (
	corev1 "k8s.io/api/core/v1"
)

// objectKey identifies an object that a pod can reference.
type objectKey struct {
	kind, namespace, name string
}

// Values of objectKey.kind.
const (
	secrets         = "secrets"
	configMaps      = "configmaps"
	claims          = "persistentvolumeclaims"
	serviceAccounts = "serviceaccounts"
	resourceClaims  = "resourceclaims"
)

// references returns the objects that the node agent reads for the pod. It may return an object
// twice.
func references(pod *corev1.Pod) []objectKey {
	var out []objectKey
	add := func(kind, name string) {
		if name != "" {
			out = append(out, objectKey{kind, pod.Namespace, name})
		}
	}
	add(serviceAccounts, pod.Spec.ServiceAccountName)
	for _, s := range pod.Spec.ImagePullSecrets {
		add(secrets, s.Name)
	}
	for i := range pod.Spec.InitContainers {
		addEnv(add, pod.Spec.InitContainers[i].Env, pod.Spec.InitContainers[i].EnvFrom)
	}
	for i := range pod.Spec.Containers {
		addEnv(add, pod.Spec.Containers[i].Env, pod.Spec.Containers[i].EnvFrom)
	}
	for i := range pod.Spec.EphemeralContainers {
		addEnv(add, pod.Spec.EphemeralContainers[i].Env, pod.Spec.EphemeralContainers[i].EnvFrom)
	}
	for i := range pod.Spec.Volumes {
		addVolume(add, pod, &pod.Spec.Volumes[i])
	}
	for _, c := range pod.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			add(resourceClaims, *c.ResourceClaimName)
		}
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.ResourceClaimName != nil {
			add(resourceClaims, *s.ResourceClaimName)
		}
	}
	return out
}

func addEnv(add func(kind, name string), env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for i := range env {
		source := env[i].ValueFrom
		if source == nil {
			continue
		}
		if source.SecretKeyRef != nil {
			add(secrets, source.SecretKeyRef.Name)
		}
		if source.ConfigMapKeyRef != nil {
			add(configMaps, source.ConfigMapKeyRef.Name)
		}
	}
	for i := range from {
		if from[i].SecretRef != nil {
			add(secrets, from[i].SecretRef.Name)
		}
		if from[i].ConfigMapRef != nil {
			add(configMaps, from[i].ConfigMapRef.Name)
		}
	}
}

func addVolume(add func(kind, name string), pod *corev1.Pod, v *corev1.Volume) {
	switch {
	case v.Secret != nil:
		add(secrets, v.Secret.SecretName)
	case v.ConfigMap != nil:
		add(configMaps, v.ConfigMap.Name)
	case v.PersistentVolumeClaim != nil:
		add(claims, v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		add(claims, pod.Name+"-"+v.Name) // the name of the generated claim is part of the API
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		add(secrets, v.CSI.NodePublishSecretRef.Name)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			source := &v.Projected.Sources[i]
			if source.Secret != nil {
				add(secrets, source.Secret.Name)
			}
			if source.ConfigMap != nil {
				add(configMaps, source.ConfigMap.Name)
			}
		}
	}
}

// secretsOf returns the secrets that a node needs to mount pv.
func secretsOf(pv *corev1.PersistentVolume) []objectKey {
	csi := pv.Spec.CSI
	if csi == nil {
		return nil
	}
	var out []objectKey
	for _, ref := range []*corev1.SecretReference{csi.NodePublishSecretRef, csi.NodeStageSecretRef, csi.NodeExpandSecretRef} {
		if ref != nil && ref.Name != "" {
			out = append(out, objectKey{secrets, ref.Namespace, ref.Name})
		}
	}
	return out
}
