package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsCluster() *cli.Command {
	return &cli.Command{
		Name:  "cluster",
		Usage: "the tests for pairs that come in sessions",
		Description: `The file has the columns cluster,a,b,c,d, a line a cluster: a pairs that both arms passed,
b losses, c gains, d that both failed. A cluster on two lines is refused, not summed. A
file with a column "dataset" may hold several data sets; --dataset chooses one.
signflip_p_worse is the gate's test.

   doubletake stats cluster --csv sessions.csv`,
		Flags: []cli.Flag{
			stringFlag("csv", "read the clusters from `FILE`, or from stdin for -"),
			stringFlag("dataset", "read only the lines with `NAME` in the column dataset"),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			path := c.String("csv")
			if c.NArg() != 0 || path == "" {
				return usageError("stats cluster wants --csv and nothing else (doubletake stats cluster --help)")
			}
			var tables []stats.ClusterTable
			err := withCSV(path, c.App.Reader, "the columns cluster,a,b,c,d", func(t *csvTable) error {
				var err error
				tables, err = readClusters(t, c.String("dataset"))
				return err
			})
			if err != nil {
				return err
			}
			found, err := clusterFigures(tables)
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

// datasetColumn says to which of several data sets in one file a cluster belongs.
const datasetColumn = "dataset"

// readClusters reads the clusters of one data set; without a name the file holds
// only one.
func readClusters(t *csvTable, dataset string) ([]stats.ClusterTable, error) {
	if err := t.need("cluster", "a", "b", "c", "d"); err != nil {
		return nil, err
	}
	if dataset != "" {
		if err := t.need(datasetColumn); err != nil {
			return nil, err
		}
	}
	var tables []stats.ClusterTable
	seen, lines, only := map[string]int{}, 0, ""
	for {
		more, err := t.next()
		switch {
		case err != nil:
			return nil, err
		case !more && dataset != "" && lines > 0 && len(tables) == 0:
			return nil, fmt.Errorf("no line with %q in the column %s", dataset, datasetColumn)
		case !more:
			return tables, nil
		}
		lines++
		name, set := t.cell("cluster"), t.cell(datasetColumn)
		switch {
		case dataset == "" && lines > 1 && set != only:
			return nil, fmt.Errorf("line %d: %s %q after %q: choose one of several with --dataset", t.line, datasetColumn, set, only)
		case dataset != "" && set != dataset:
			continue
		}
		only = set
		if err := t.once(seen, name, "cluster", name); err != nil {
			return nil, err
		}
		table, err := readCluster(t)
		if err != nil {
			return nil, err
		}
		tables = append(tables, table)
	}
}

func readCluster(t *csvTable) (stats.ClusterTable, error) {
	var table stats.ClusterTable
	for _, cell := range []struct {
		column string
		count  *int
	}{{"a", &table.BothPass}, {"b", &table.Losses}, {"c", &table.Gains}, {"d", &table.BothFail}} {
		var err error
		if *cell.count, err = t.count(cell.column); err != nil {
			return table, err
		}
	}
	if table == (stats.ClusterTable{}) {
		return table, fmt.Errorf("line %d: cluster %q has no pair: leave it out", t.line, t.cell("cluster"))
	}
	return table, nil
}

func clusterFigures(tables []stats.ClusterTable) (figures, error) {
	// First, since it is the one that looks at all four cells.
	eliasziw, err := stats.Eliasziw(tables)
	if err != nil {
		return nil, err
	}
	var clusters []stats.Cluster
	losses, gains := 0, 0
	for _, t := range tables {
		clusters = append(clusters, t.Cluster())
		losses += t.Losses
		gains += t.Gains
	}
	flip, err := stats.SignFlip(clusters)
	if err != nil {
		return nil, err
	}
	tests, err := stats.ClusterTests(clusters)
	if err != nil {
		return nil, err
	}
	sums, err := stats.SumClusters(clusters)
	if err != nil {
		return nil, err
	}
	pair, err := stats.McNemar(losses, gains)
	if err != nil {
		return nil, err
	}
	estimate, err := stats.ClusterInterval(clusters, 0.95)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("K", flip.Clusters)
	f.add("N", flip.Pairs)
	f.add("losses", losses)
	f.add("gains", gains)
	f.optional("mcnemar_chi2", pair.Chi2, pair.Reason)
	squares := []struct {
		name   string
		test   *stats.ChiSquare
		reason string
	}{
		{"obuchowski", tests.Obuchowski, tests.Reason},
		{"durkalski", tests.Durkalski, tests.Reason},
		{"yang", tests.Yang, tests.Reason},
		{"eliasziw", eliasziw.ChiSquare, eliasziw.Reason},
	}
	for _, s := range squares {
		if s.test == nil {
			f.optional(s.name+"_chi2", nil, s.reason)
			continue
		}
		f.add(s.name+"_chi2", s.test.Statistic)
	}
	for _, s := range squares {
		if s.test == nil {
			f.optional("p_"+s.name, nil, s.reason)
			continue
		}
		f.add("p_"+s.name, s.test.P)
	}
	f.add("sumD", sums.Sum)
	f.add("sumD2", sums.Squares)
	f.add("sumD2_centred", sums.Centred)
	f.add("signflip_p_worse", flip.PWorse)
	f.add("signflip_p_better", flip.PBetter)
	f.add("signflip_p_two", flip.PTwo)
	f.add("signflip_min_p", flip.MinP)
	f.add("mcnemar_exact_two", pair.PTwo)
	f.add("mcnemar_exact_worse", pair.PWorse)
	f.optional("diff", estimate.Value, estimate.Reason)
	f.optional("se_diff_cluster", estimate.SE, estimate.Reason)
	f.interval("diff95", estimate)
	return f, nil
}
