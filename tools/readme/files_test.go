package readme

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/go-yaml"
)

// fileOf is the only block of a language on a page, or the one that has a text.
func fileOf(t *testing.T, page, language, with string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], with) {
			found = append(found, block[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of %s with %q", page, len(found), language, with)
	}
	return found[0]
}

// grace is how long the program of services.md takes to stop, in seconds.
func grace(t *testing.T) int {
	t.Helper()
	m := regexp.MustCompile(`(\d+)\*time\.Second\) // Kubernetes`).FindStringSubmatch(fileOf(t, "docs/services.md", "go", "Kubernetes"))
	if m == nil {
		t.Fatal("services.md does not say how long a stop takes")
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return n
}

// TestTheUnitOfSystemd: each line of the unit is a directive of its section, the program may end in
// its own time, and systemd, where it is installed, finds no fault in it.
func TestTheUnitOfSystemd(t *testing.T) {
	directives := map[string][]string{
		"[Unit]":    {"Description", "After", "Wants"},
		"[Service]": {"ExecStart", "Environment", "Restart", "RestartSec", "TimeoutStopSec", "User"},
		"[Install]": {"WantedBy"},
	}
	unit := fileOf(t, "docs/moving.md", "ini", "[Unit]")
	section, values := "", map[string]string{}
	for line := range strings.Lines(unit) {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case directives[line] != nil:
			section = line
		case line != "" && (!assigned || !slices.Contains(directives[section], key)):
			t.Errorf("%q is not a directive of %s", line, section)
		}
		values[key] = value
	}
	if stop, err := strconv.Atoi(values["TimeoutStopSec"]); err != nil || stop <= grace(t) {
		t.Errorf("the unit is killed after %q s, and a stop takes %d s", values["TimeoutStopSec"], grace(t))
	}
	if values["Wants"] != values["After"] || values["Restart"] != "always" {
		t.Errorf("the unit has %v", values)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("systemd-analyze is not installed: the directives were read without it")
		return
	}
	file := filepath.Join(t.TempDir(), "shop.service")
	if err := os.WriteFile(file, []byte(strings.Replace(unit, values["ExecStart"], "/bin/true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || strings.Contains(string(out), "shop.service") {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// strictly decodes YAML into a value that has all its fields.
func strictly(t *testing.T, text string, into any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// TestTheFileOfCompose: it has fields of the specification of Compose only, and what it names is there.
func TestTheFileOfCompose(t *testing.T) {
	type service struct {
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Healthcheck struct {
			Test     []string `yaml:"test"`
			Interval string   `yaml:"interval"`
		} `yaml:"healthcheck"`
		DependsOn map[string]struct {
			Condition string `yaml:"condition"`
		} `yaml:"depends_on"`
		Restart         string         `yaml:"restart"`
		StopGracePeriod string         `yaml:"stop_grace_period"`
		Deploy          map[string]int `yaml:"deploy"`
	}
	var file struct {
		Services map[string]service  `yaml:"services"`
		Volumes  map[string]struct{} `yaml:"volumes"`
	}
	strictly(t, fileOf(t, "docs/moving.md", "yaml", "services:"), &file)
	for name, s := range file.Services {
		for on, d := range s.DependsOn {
			if other, there := file.Services[on]; !there || d.Condition == "service_healthy" && len(other.Healthcheck.Test) == 0 {
				t.Errorf("%s depends on %s, which is not there or has no check", name, on)
			}
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, there := file.Volumes[volume]; !there {
				t.Errorf("%s mounts the volume %s, which is not declared", name, volume)
			}
		}
	}
	shop, db := file.Services["shop"], file.Services["db"]
	if want := "postgres://" + db.Environment["POSTGRES_USER"] + ":" + db.Environment["POSTGRES_PASSWORD"] + "@db/shop"; shop.Environment["SHOP_DB"] != want {
		t.Errorf("the shop opens %s, want %s", shop.Environment["SHOP_DB"], want)
	}
	if stop, err := strconv.Atoi(strings.TrimSuffix(shop.StopGracePeriod, "s")); err != nil || stop <= grace(t) {
		t.Errorf("the shop is killed after %s", shop.StopGracePeriod)
	}
}

// TestTheFileOfKubernetes: it has fields of a StatefulSet only, and its selector finds its pods.
func TestTheFileOfKubernetes(t *testing.T) {
	type probe struct {
		HTTPGet struct {
			Path string `yaml:"path"`
			Port int    `yaml:"port"`
		} `yaml:"httpGet"`
	}
	type container struct {
		Name  string `yaml:"name"`
		Image string `yaml:"image"`
		Env   []struct {
			Name      string `yaml:"name"`
			ValueFrom struct {
				SecretKeyRef struct {
					Name string `yaml:"name"`
					Key  string `yaml:"key"`
				} `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		} `yaml:"env"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		LivenessProbe  probe `yaml:"livenessProbe"`
	}
	var set struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   map[string]string `yaml:"metadata"`
		Spec       struct {
			ServiceName         string `yaml:"serviceName"`
			Replicas            int    `yaml:"replicas"`
			PodManagementPolicy string `yaml:"podManagementPolicy"`
			Selector            struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			} `yaml:"selector"`
			Template struct {
				Metadata struct {
					Labels map[string]string `yaml:"labels"`
				} `yaml:"metadata"`
				Spec struct {
					TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
					Containers                    []container `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	strictly(t, fileOf(t, "docs/moving.md", "yaml", "StatefulSet"), &set)
	if set.APIVersion != "apps/v1" || set.Kind != "StatefulSet" || set.Metadata["name"] == "" || set.Spec.ServiceName == "" || len(set.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%+v", set)
	}
	for label, value := range set.Spec.Selector.MatchLabels {
		if set.Spec.Template.Metadata.Labels[label] != value {
			t.Errorf("no pod has the label %s=%s", label, value)
		}
	}
	if len(set.Spec.Selector.MatchLabels) == 0 || set.Spec.Template.Spec.TerminationGracePeriodSeconds <= grace(t) {
		t.Errorf("%+v", set.Spec)
	}
	c := set.Spec.Template.Spec.Containers[0]
	if c.ReadinessProbe.HTTPGet.Port != c.LivenessProbe.HTTPGet.Port || c.ReadinessProbe.HTTPGet.Path == c.LivenessProbe.HTTPGet.Path {
		t.Errorf("the probes are %+v and %+v", c.ReadinessProbe, c.LivenessProbe)
	}
}
