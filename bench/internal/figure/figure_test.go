package figure

import "testing"

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -999: "-999", -123456: "-123,456"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 3, "0"}, {1, 3, "1.00"}, {0.25, 2, "0.25"}, {0.0241999, 3, "0.0242"}, {0.0999999, 3, "0.100"},
		{9.996, 3, "10.0"}, {99.96, 3, "100"}, {345.6, 3, "346"}, {345.6, 2, "350"}, {34567, 3, "34,600"}, {999.96, 3, "1,000"}, {-12.34, 3, "-12.3"},
	} {
		if got := Significant(c.v, c.digits); got != c.want {
			t.Errorf("Significant(%v, %d) = %q, want %q", c.v, c.digits, got, c.want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1000: "1,000 B", 1536: "1.50 KiB", 5 << 20: "5.00 MiB", 3 << 41: "6,140 GiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
