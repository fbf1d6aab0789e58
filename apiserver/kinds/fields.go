package kinds

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// The functions below return the values of the selectable fields of an object.

func podFields(obj runtime.Object) fields.Set {
	pod := obj.(*corev1.Pod)
	ip := pod.Status.PodIP
	if ip == "" && len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             ip,
		"status.podIPs":            "", // accepted in selectors but always empty, as in Kubernetes
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}

func nodeFields(obj runtime.Object) fields.Set {
	return fields.Set{"spec.unschedulable": strconv.FormatBool(obj.(*corev1.Node).Spec.Unschedulable)}
}

func namespaceFields(obj runtime.Object) fields.Set {
	return fields.Set{"status.phase": string(obj.(*corev1.Namespace).Status.Phase)}
}

func secretFields(obj runtime.Object) fields.Set {
	return fields.Set{"type": string(obj.(*corev1.Secret).Type)}
}

func serviceFields(obj runtime.Object) fields.Set {
	service := obj.(*corev1.Service)
	return fields.Set{"spec.clusterIP": service.Spec.ClusterIP, "spec.type": string(service.Spec.Type)}
}

func controllerFields(obj runtime.Object) fields.Set {
	return fields.Set{"status.replicas": strconv.Itoa(int(obj.(*corev1.ReplicationController).Status.Replicas))}
}

func jobFields(obj runtime.Object) fields.Set {
	return fields.Set{"status.successful": strconv.Itoa(int(obj.(*batchv1.Job).Status.Succeeded))}
}

func sliceFields(obj runtime.Object) fields.Set {
	slice := obj.(*resourcev1.ResourceSlice)
	node := ""
	if slice.Spec.NodeName != nil {
		node = *slice.Spec.NodeName
	}
	return fields.Set{"spec.nodeName": node, "spec.driver": slice.Spec.Driver}
}

func eventFields(obj runtime.Object) fields.Set {
	event := obj.(*corev1.Event)
	ref := event.InvolvedObject
	source := event.Source.Component
	if source == "" {
		source = event.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            ref.Kind,
		"involvedObject.namespace":       ref.Namespace,
		"involvedObject.name":            ref.Name,
		"involvedObject.uid":             string(ref.UID),
		"involvedObject.apiVersion":      ref.APIVersion,
		"involvedObject.resourceVersion": ref.ResourceVersion,
		"involvedObject.fieldPath":       ref.FieldPath,
		"reason":                         event.Reason,
		"reportingComponent":             source,
		"source":                         source,
		"type":                           event.Type,
	}
}
