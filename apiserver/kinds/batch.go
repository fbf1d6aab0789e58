package kinds

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// batch returns the kinds of batch/v1.
func batch() []Kind {
	gv := batchv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Job", Resource: "jobs", Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &batchv1.Job{} },
			NewList:   func() runtime.Object { return &batchv1.JobList{} },
			HasStatus: true, OrphansByDefault: true, Generation: CountedGeneration,
			Fields: jobFields,
		},
		{
			GroupVersion: gv, Kind: "CronJob", Resource: "cronjobs", ShortNames: []string{"cj"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &batchv1.CronJob{} },
			NewList:   func() runtime.Object { return &batchv1.CronJobList{} },
			HasStatus: true, Generation: CountedGeneration,
		},
	}
}
