#!/bin/sh
# Measures every solver on the recorded problems and on the generated ones of outside.h5, and writes the table into docs/solvers.md, between its two markers.
# Counts and iterations are the same on every machine; times are left out because they are not.
set -eu
cd "$(dirname "$0")/.."
lab() { cargo run --release --quiet -p mlcp-lab -- replay "tests/data/$1.h5" --solver all --repeats 1 --tsv --friction "$2"; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
lab engines frozen > "$folder/frozen" 2> /dev/null
lab engines coupled > "$folder/coupled" 2> /dev/null
lab outside coupled > "$folder/outside" 2> /dev/null
awk -F '\t' '
    FNR == 1 { mode++; for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        solver = $column["solver"]
        if (!(solver in seen)) { seen[solver] = 1; order[++count] = solver }
        total[mode, solver]++
        if ($column["energy_rel"] != "nan" && $column["energy_rel"] <= 1e-9) solved[mode, solver]++
        if ($column["energy_rel"] != "nan" && $column["energy_rel"] > 1e-3) far[mode, solver]++
        if (mode == 1) iterations[solver] = iterations[solver] " " $column["iterations"]
    }
    function median(text,   values, n, i, j, swap) {
        n = split(text, values, " ")
        for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++)
            if (values[j] + 0 < values[i] + 0) { swap = values[i]; values[i] = values[j]; values[j] = swap }
        return values[int((n + 1) / 2)]
    }
    END {
        print "| solver | frozen | coupled | outside, coupled | relative error above 1e-3, frozen / coupled / outside | median iterations, frozen |"
        print "|---|---|---|---|---|---|"
        for (k = 1; k <= count; k++) {
            s = order[k]
            printf "| `%s` | %d of %d | %d of %d | %d of %d | %d / %d / %d | %d |\n", s, solved[1, s], total[1, s], \
                solved[2, s], total[2, s], solved[3, s], total[3, s], far[1, s], far[2, s], far[3, s], median(iterations[s])
        }
    }' "$folder/frozen" "$folder/coupled" "$folder/outside" > "$folder/table"
awk -v table="$folder/table" '
    /<!-- table: end -->/ { skip = 0 }
    !skip { print }
    /<!-- table: begin/ { skip = 1; while ((getline line < table) > 0) print line }' docs/solvers.md > "$folder/guide"
cat "$folder/guide" > docs/solvers.md
cat "$folder/table"
