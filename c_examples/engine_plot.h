/*
 * engine_plot.h: lines over time as an SVG file, for the engine examples. C++11, header only, standard library only.
 *
 *     engine_plot::Plot plot("Wall of 30 boxes", "time (s)", "drift (m)");
 *     plot.log_y = true;                             // logarithmic; values <= 0 are left out
 *     size_t a = plot.add("Bullet, 10 sweeps"), b = plot.add("libmlcp");
 *     plot.point(a, t, drift_a);
 *     plot.point(b, t, drift_b);
 *     if (!plot.write("bullet_wall.svg")) { ... }    // false: the file could not be written
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef ENGINE_PLOT_H
#define ENGINE_PLOT_H

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace engine_plot {

class Plot {
public:
    bool log_y;

    Plot(const std::string &title, const std::string &x_label, const std::string &y_label)
        : log_y(false), title_(title), x_label_(x_label), y_label_(y_label)
    {
    }

    /// A new line; returns its number.
    std::size_t add(const std::string &name)
    {
        lines_.push_back(Line());
        lines_.back().name = name;
        return lines_.size() - 1;
    }

    void point(std::size_t line, double x, double y) { lines_[line].points.push_back(std::make_pair(x, y)); }

    bool write(const std::string &path) const
    {
        std::FILE *f = std::fopen(path.c_str(), "w");
        if (!f) {
            return false;
        }
        const Axis x = axis(false, LEFT, RIGHT), y = axis(true, BOTTOM, TOP);
        std::fprintf(f,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                     "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                     WIDTH, HEIGHT, WIDTH, HEIGHT);
        text(f, WIDTH / 2, 26, "middle", title_, " font-size=\"16\"");
        text(f, (LEFT + RIGHT) / 2, HEIGHT - 16, "middle", x_label_, "");
        text(f, -(TOP + BOTTOM) / 2, 20, "middle", y_label_, " transform=\"rotate(-90)\"");
        grid(f, x, false);
        grid(f, y, true);
        for (std::size_t i = 0; i < lines_.size(); i++) {
            curve(f, i, x, y);
        }
        std::fprintf(f, "</svg>\n");
        const bool written = !std::ferror(f);
        return std::fclose(f) == 0 && written;
    }

private:
    struct Line {
        std::string name;
        std::vector<std::pair<double, double>> points;
    };
    /// Values from..to, with ticks, on the pixels first..last; on a logarithmic axis the values are decades.
    struct Axis {
        double from, to, tick;
        int first, last;
        bool log;

        double pixel(double v) const { return first + (v - from) / (to - from) * (last - first); }
    };
    enum { WIDTH = 760, HEIGHT = 440, LEFT = 96, RIGHT = 740, TOP = 44, BOTTOM = 378 };

    std::string title_, x_label_, y_label_;
    std::vector<Line> lines_;

    bool drawn(const std::pair<double, double> &p) const
    {
        return std::isfinite(p.first) && std::isfinite(p.second) && (!log_y || p.second > 0.0);
    }

    double value(const std::pair<double, double> &p, bool is_y) const
    {
        return !is_y ? p.first : log_y ? std::log10(p.second) : p.second;
    }

    Axis axis(bool is_y, int first, int last) const
    {
        double from = HUGE_VAL, to = -HUGE_VAL;
        for (const Line &line : lines_) {
            for (const std::pair<double, double> &p : line.points) {
                if (drawn(p)) {
                    from = std::fmin(from, value(p, is_y));
                    to = std::fmax(to, value(p, is_y));
                }
            }
        }
        if (!(from <= to)) { // nothing to draw
            from = 0.0;
            to = 1.0;
        }
        const bool log = is_y && log_y;
        double tick = log ? std::ceil((to - from) / 10.0) : step((to - from) / 6.0);
        if (!(tick > 0.0)) { // one value only
            tick = log ? 1.0 : std::fmax(std::fabs(to), 1e-3) / 4.0;
        }
        const double low = std::floor(from / tick + 1e-9) * tick, high = std::ceil(to / tick - 1e-9) * tick;
        return Axis{low, high > low ? high : low + tick, tick, first, last, log};
    }

    /// The next of 1, 2, 5, 10, ... above a width.
    static double step(double width)
    {
        if (!(width > 0.0)) {
            return 0.0;
        }
        const double decade = std::pow(10.0, std::floor(std::log10(width)));
        const double lead = width / decade;
        return decade * (lead <= 1.0 ? 1.0 : lead <= 2.0 ? 2.0 : lead <= 5.0 ? 5.0 : 10.0);
    }

    static void grid(std::FILE *f, const Axis &axis, bool is_y)
    {
        const int ticks = static_cast<int>(std::floor((axis.to - axis.from) / axis.tick + 0.5));
        for (int i = 0; i <= ticks; i++) {
            const double v = axis.from + i * axis.tick, p = axis.pixel(v);
            const char *colour = i == 0 ? "#444" : "#ddd";
            char label[32];
            if (axis.log) {
                std::snprintf(label, sizeof label, "1e%.0f", v);
            } else {
                std::snprintf(label, sizeof label, "%.4g", std::fabs(v) < 1e-9 * axis.tick ? 0.0 : v);
            }
            if (is_y) {
                std::fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"%s\"/>\n", LEFT, p, RIGHT, colour);
                text(f, LEFT - 6, static_cast<int>(p) + 4, "end", label, "");
            } else {
                std::fprintf(f, "<path d=\"M%.1f %dV%d\" stroke=\"%s\"/>\n", p, TOP, BOTTOM, colour);
                text(f, static_cast<int>(p), BOTTOM + 18, "middle", label, "");
            }
        }
    }

    /// The line, broken where a value cannot be drawn, and its entry in the legend.
    void curve(std::FILE *f, std::size_t i, const Axis &x, const Axis &y) const
    {
        static const char *const COLOURS[] = {"#d95f02", "#1b6fb3", "#3a923a", "#8e44ad", "#7a7a7a", "#b8860b"};
        const char *colour = COLOURS[i % 6];
        std::fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"", colour);
        bool joined = false;
        for (const std::pair<double, double> &p : lines_[i].points) {
            if (drawn(p)) {
                std::fprintf(f, "%c%.1f %.1f", joined ? 'L' : 'M', x.pixel(value(p, false)), y.pixel(value(p, true)));
            }
            joined = drawn(p);
        }
        const int row = TOP + 16 + 18 * static_cast<int>(i);
        std::fprintf(f, "\"/>\n<path d=\"M%d %dh26\" stroke=\"%s\" stroke-width=\"2\"/>\n", LEFT + 12, row - 4, colour);
        text(f, LEFT + 44, row, "start", lines_[i].name, " stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"");
    }

    static void text(std::FILE *f, int x, int y, const char *anchor, const std::string &words, const std::string &extra)
    {
        std::string safe;
        for (char c : words) {
            safe += c == '&' ? std::string("&amp;") : c == '<' ? std::string("&lt;") : std::string(1, c);
        }
        std::fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, extra.c_str(), safe.c_str());
    }
};

} // namespace engine_plot

#endif
