package staticpod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// reference returns the first field of a pod that refers to another API object, and the kind of the object. Such pods
// are rejected: a mirror pod with a reference would let the node read the object.
func reference(pod *corev1.Pod) (field, kind string) {
	s := &pod.Spec
	switch {
	case s.ServiceAccountName != "":
		return "spec.serviceAccountName", "serviceaccounts"
	case len(s.ImagePullSecrets) > 0:
		return "spec.imagePullSecrets", "secrets"
	case len(s.ResourceClaims) > 0:
		return "spec.resourceClaims", "resourceclaims"
	}
	for i := range s.Volumes {
		if field, kind := volumeReference(&s.Volumes[i]); field != "" {
			return fmt.Sprintf("spec.volumes[%d].%s", i, field), kind
		}
	}
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", s.InitContainers}, {"containers", s.Containers}} {
		for i := range list.containers {
			if field, kind := environmentReference(&list.containers[i]); field != "" {
				return fmt.Sprintf("spec.%s[%d].%s", list.name, i, field), kind
			}
		}
	}
	return "", ""
}

func volumeReference(v *corev1.Volume) (field, kind string) {
	switch {
	case v.Secret != nil:
		return "secret", "secrets"
	case v.ConfigMap != nil:
		return "configMap", "configmaps"
	case v.PersistentVolumeClaim != nil:
		return "persistentVolumeClaim", "persistentvolumeclaims"
	case v.Ephemeral != nil:
		return "ephemeral", "persistentvolumeclaims"
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		return "csi.nodePublishSecretRef", "secrets"
	case v.Projected == nil:
		return "", ""
	}
	for i, source := range v.Projected.Sources {
		field := fmt.Sprintf("projected.sources[%d]", i)
		switch {
		case source.Secret != nil:
			return field, "secrets"
		case source.ConfigMap != nil:
			return field, "configmaps"
		case source.ServiceAccountToken != nil:
			return field, "serviceaccounts"
		case source.ClusterTrustBundle != nil:
			return field, "clustertrustbundles"
		case source.PodCertificate != nil:
			return field, "podcertificates"
		}
	}
	return "", ""
}

func environmentReference(c *corev1.Container) (field, kind string) {
	for i, source := range c.EnvFrom {
		switch {
		case source.SecretRef != nil:
			return fmt.Sprintf("envFrom[%d]", i), "secrets"
		case source.ConfigMapRef != nil:
			return fmt.Sprintf("envFrom[%d]", i), "configmaps"
		}
	}
	for i, e := range c.Env {
		switch {
		case e.ValueFrom == nil:
		case e.ValueFrom.SecretKeyRef != nil:
			return fmt.Sprintf("env[%d]", i), "secrets"
		case e.ValueFrom.ConfigMapKeyRef != nil:
			return fmt.Sprintf("env[%d]", i), "configmaps"
		}
	}
	return "", ""
}
