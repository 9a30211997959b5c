/*
 * style.c - how the page looks: colours by day and by night, on narrow
 * screens and on paper.
 */
#include "report/draw/canvas.h"
#include "report/html/section.h"

static const char *const day = "--paper:#fff;--panel:#f4f6f8;--ink:#1c2126;--faint:#59626b;--rule:#d5dade;--link:#"
                               "1b5faa;--good:#17703f;--warn:#8a5a00;--alarm:#b3202c;\n"
                               "--tensor:#4477aa;--dram:#b8475b;--link-time:#1c2126;\n";
static const char *const night = "--paper:#13171b;--panel:#1c2227;--ink:#e4e8eb;--faint:#9aa5ae;--rule:#363f47;--link:#"
                                 "82b5ee;--good:#62c98f;--warn:#e0b050;--alarm:#ff8078;\n"
                                 "--tensor:#6fa3d8;--dram:#f07f8d;--link-time:#e4e8eb;\n";

static const char *const rules =
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0 auto;padding:1.2rem 1rem 2rem;max-width:54rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:0 0 .4rem}\n"
    "h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-top:.5rem;border-top:1px solid var(--rule)}\n"
    "h3{font-size:1rem;margin:1.4rem 0 .3rem}\n"
    "p{margin:.5rem 0}\n"
    "a{color:var(--link)}\n"
    "nav a{display:inline-block;margin:.1rem .9rem .1rem 0}\n"
    "code,pre{font:.9rem/1.5 ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace}\n"
    "pre{background:var(--panel);border:1px solid var(--rule);border-radius:4px;padding:.7rem .9rem;margin:.6rem 0;"
    "white-space:pre-wrap;overflow-wrap:anywhere}\n"
    ".faint,.note{color:var(--faint)}\n"
    ".note{font-size:.88rem}\n"
    ".good{color:var(--good)}.warn{color:var(--warn)}.alarm{color:var(--alarm)}\n"
    ".tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.7rem;margin:.9rem 0}\n"
    ".tile{background:var(--panel);border:1px solid var(--rule);border-radius:4px;padding:.6rem .8rem}\n"
    ".tile b{display:block;font-size:1.35rem;line-height:1.3}\n"
    ".tile span{display:block;font-size:.85rem;color:var(--faint)}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;margin:.6rem 0;font-size:.92rem}\n"
    "th{font-weight:600;color:var(--faint)}\n"
    "th,td{text-align:left;vertical-align:top;padding:.22rem .8rem .22rem 0;border-bottom:1px solid var(--rule)}\n"
    "th:last-child,td:last-child{padding-right:0}\n"
    "th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "td.name{overflow-wrap:break-word}\n"
    "td.part{white-space:nowrap}\n"
    "tr.lead td{border-bottom:0;padding-bottom:0}\n"
    "tr.sum th,tr.sum td{font-weight:600;color:inherit}\n"
    "tr.sum td.faint{font-weight:400;color:var(--faint)}\n"
    ".key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.5em;vertical-align:-.05em}\n"
    ".keys{margin:.3rem 0;padding:0;list-style:none}\n"
    ".keys li{display:inline-block;margin-right:1.2rem}\n";
static const char *const drawings =
    "svg{display:block;width:100%;height:auto;margin:.5rem 0}\n"
    "svg text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--ink);"
    "paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}\n"
    "svg text.faint{fill:var(--faint)}svg text.alarm{fill:var(--alarm)}\n"
    "svg .seg{stroke:var(--paper);stroke-width:1}\n"
    "svg line{stroke:var(--ink);stroke-width:1.2}\n"
    "svg .grid{stroke:var(--rule);stroke-width:1}\n"
    "svg .axis{stroke:var(--faint);stroke-width:1}\n"
    "svg .phase{stroke:var(--faint);stroke-width:1;stroke-dasharray:2 3}\n"
    "svg line.alarm{stroke:var(--alarm);stroke-width:2}\n"
    "svg .level{stroke:var(--ink);stroke-width:1.5}\n"
    "svg .track{fill:var(--rule)}\n"
    "svg path.roof{fill:none;stroke:var(--ink);stroke-width:2}\n"
    "svg path.roof.thin{stroke:var(--faint);stroke-width:1.2;stroke-dasharray:5 4}\n"
    "svg path.tensor{fill:none;stroke:var(--tensor);stroke-width:1.6}\n"
    "svg path.dram{fill:none;stroke:var(--dram);stroke-width:1.6}\n"
    "svg path.link{fill:none;stroke:var(--link-time);stroke-width:1.6}\n"
    "svg .disc{stroke:var(--paper);stroke-width:1;fill-opacity:.85}\n"
    "svg .leader{stroke:var(--faint);stroke-width:1}\n"
    "svg .dot{fill:var(--ink)}\n"
    ".line-tensor{background:var(--tensor)}.line-dram{background:var(--dram)}.line-link{background:var(--link-time)}\n"
    ".line-tensor,.line-dram,.line-link{height:.2em;vertical-align:.25em}\n"
    ".meter{display:block;height:.55rem;border-radius:3px;background:var(--rule);min-width:4rem;margin-top:.45rem}\n"
    ".meter span{display:block;height:100%;border-radius:3px;background:var(--tensor)}\n";
static const char *const media = "footer{margin-top:2.5rem;font-size:.85rem;color:var(--faint)}\n"
                                 ".narrow{display:none}\n"
                                 "@media screen and (max-width:640px){\n"
                                 ".wide{display:none}.narrow{display:block;max-width:26rem}\n"
                                 ".tiles{grid-template-columns:repeat(2,1fr)}\n"
                                 ".more{display:none}\n"
                                 "table{font-size:.88rem}\n"
                                 "}\n"
                                 "@media (max-width:340px){.tiles{grid-template-columns:1fr}}\n"
                                 "@media print{\n"
                                 "@page{margin:15mm}\n"
                                 "html{font-size:8.8pt}\n"
                                 "body{max-width:none;padding:0}\n"
                                 "nav{display:none}\n"
                                 "h2{margin-top:1.6rem}\n"
                                 "h2,h3,p:not(.note),.keys{break-after:avoid}\n"
                                 "svg,tr,.tiles,pre,.keys{break-inside:avoid}\n"
                                 "svg{max-width:150mm}\n"
                                 "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}\n"
                                 "}\n";

void mfu_html_style(FILE *out)
{
    const struct mfu_fill *fills = mfu_fills;
    const int n = mfu_fill_count;

    fprintf(out, ":root{%s", day);
    for (int i = 0; i < n; i++)
        fprintf(out, "--%s:%s;--on-%s:%s;", fills[i].class, fills[i].day, fills[i].class, fills[i].on_day);
    fprintf(out, "}\n@media screen and (prefers-color-scheme:dark){:root{%s", night);
    for (int i = 0; i < n; i++)
        fprintf(out, "--%s:%s;--on-%s:#13171b;", fills[i].class, fills[i].night, fills[i].class);
    fputs("}}\n", out);
    fputs(rules, out);
    fputs(drawings, out);
    fputs(media, out);
    for (int i = 0; i < n; i++)
        fprintf(out, ".%s{fill:var(--%s)}.key.%s{background:var(--%s)}svg text.on-%s{fill:var(--on-%s);stroke:none}\n",
                fills[i].class, fills[i].class, fills[i].class, fills[i].class, fills[i].class, fills[i].class);
}
