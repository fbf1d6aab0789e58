// Package batch has the defaulting, preparation, validation and warnings of Job and CronJob.
package batch
