// Package autoscaling has the defaults, validation and version conversion of HorizontalPodAutoscalers. Objects are
// stored in autoscaling/v2. Version v1 has a field for CPU utilization only; annotations hold the other fields, as in
// kube-apiserver.
package autoscaling
