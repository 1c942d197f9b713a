// Command strict decodes Kubernetes manifests by the types of the API and refuses what
// they do not have: a misspelt field, a string for a number. It asks no cluster.
package main

import (
	"bytes"
	"fmt"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, name := range os.Args[1:] {
		if err := decode(name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Printf("%s: as its types have it\n", name)
	}
}

func decode(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var head struct{ Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return err
		}
		var into any
		switch head.Kind {
		case "CronJob":
			into = new(batchv1.CronJob)
		case "Job":
			into = new(batchv1.Job)
		case "PersistentVolumeClaim":
			into = new(corev1.PersistentVolumeClaim)
		default:
			return fmt.Errorf("no type known for the kind %q", head.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			return err
		}
	}
	return nil
}
